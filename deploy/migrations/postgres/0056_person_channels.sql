-- The channels of a person under all names (platform/addresses). A function, because a session keeps the plans of its statements, and planning costs more than the look-up; PostgreSQL would plan anew for each array of names. Conditions stand as the indexes have them.
CREATE FUNCTION person_channels(of_account bigint, of_name text)
RETURNS TABLE (what text, channel text, id text, provider text, reason text, received_at bigint)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  names text[] := ARRAY(
    SELECT of_name UNION
    SELECT n.name FROM identity_names n WHERE n.account_id = of_account
      AND n.canonical = (SELECT i.canonical FROM identity_names i WHERE i.account_id = of_account AND i.name = of_name)
  );
BEGIN
  RETURN QUERY
    SELECT 'address', s.channel, s.address_id, s.details->>'push_provider', s.reason, s.received_at
    FROM channel_address_states s WHERE s.account_id = of_account AND s.user_id = ANY (names) AND s.user_id <> ''
    UNION ALL
    SELECT 'address', s.channel, s.address_id, s.details->>'push_provider', s.reason, s.received_at
    FROM channel_address_states s WHERE s.account_id = of_account AND s.user_id = '' AND s.anonymous_id = ANY (names) AND s.anonymous_id <> ''
    UNION ALL
    SELECT 'suppression', s.channel, s.address, NULL, s.reason, s.received_at
    FROM channel_suppressions s WHERE s.account_id = of_account AND s.suppressed AND s.user_id = ANY (names) AND s.user_id <> ''
    UNION ALL
    (SELECT DISTINCT ON (c.channel) 'consent', c.channel, c.state, NULL, '', c.received_at
    FROM channel_consents c WHERE c.account_id = of_account AND c.user_id = ANY (names)
    ORDER BY c.channel, c.received_at DESC, c.gateway COLLATE "C" DESC, c.sequence DESC);
END $$;

-- As in 0050, but each look-up of an end goes by the primary key: an account may have as many ends as devices.
CREATE OR REPLACE VIEW channel_address_states AS
SELECT a.*,
  coalesce(ended.reason, CASE WHEN a.token_hash IS NOT NULL AND t.address_id IS DISTINCT FROM a.address_id THEN 'token_moved' END, '') AS reason
FROM channel_addresses a
LEFT JOIN channel_tokens t ON t.account_id = a.account_id AND t.token_hash = a.token_hash
LEFT JOIN LATERAL (
  SELECT e.reason FROM (
    SELECT * FROM channel_ends WHERE account_id = a.account_id AND channel = a.channel AND user_id = '' AND address_id = a.address_id
    UNION ALL
    SELECT * FROM channel_ends WHERE account_id = a.account_id AND channel = a.channel AND user_id = a.user_id AND a.user_id <> '' AND address_id IN ('', a.address_id)
  ) e
  WHERE (e.received_at, e.gateway COLLATE "C", e.sequence) > (a.received_at, a.gateway COLLATE "C", a.sequence)
  ORDER BY e.received_at DESC, e.gateway COLLATE "C" DESC, e.sequence DESC LIMIT 1
) ended ON true;
