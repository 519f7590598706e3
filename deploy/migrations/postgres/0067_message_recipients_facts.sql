-- What decides whether and where messages go, for a batch of people (messaging/recipients). Functions, because a session keeps the plans of their statements. Every table is looked up by a key: the subqueries keep their own plans (LATERAL with LIMIT or OFFSET), and other joins are off, because a batch of 500 looks to the planner as if it needed whole tables.

-- `at` numbers the people from 1. person: their canonical id, and the revision of the account's identities in which one of their names changed last (in the place of received_at). name: each distinct id, at most 1,001. address: active devices, browsers or chats of the channel, the ten that were registered last under each name. consent: the last change on the channel under any name. opt_out: the last announced opt-out. complaint: the last complaint about the channel.
CREATE FUNCTION message_recipient_facts(accounts bigint[], channels text[], people text[], users text[])
RETURNS TABLE (at integer, what text, id text, details text, received_at bigint)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH wanted AS MATERIALIZED (
    SELECT w.at::integer AS at, w.account_id, w.channel, w.person, w.user_id,
      coalesce((SELECT i.canonical FROM identity_names i WHERE i.account_id = w.account_id AND i.name = w.person), w.person) AS canonical
    FROM unnest(accounts, channels, people, users) WITH ORDINALITY AS w (account_id, channel, person, user_id, at)
  ), names AS MATERIALIZED (
    SELECT w.at, w.account_id, w.channel, n.name FROM wanted w CROSS JOIN LATERAL (
      SELECT w.person AS name UNION SELECT w.user_id
      UNION SELECT own.name FROM (SELECT i.name FROM identity_names i WHERE i.account_id = w.account_id AND i.canonical = w.canonical LIMIT 1001) own
    ) n
  )
  SELECT w.at, 'person', w.canonical, NULL::text, coalesce((SELECT max(own.revision) FROM (
    SELECT i.revision FROM identity_names i WHERE i.account_id = w.account_id AND i.canonical = w.canonical LIMIT 1001
  ) own), 0) FROM wanted w
  UNION ALL
  SELECT n.at, 'name', n.name, NULL, 0 FROM names n
  UNION ALL
  SELECT n.at, 'address', a.address_id, a.details, a.received_at FROM names n CROSS JOIN LATERAL (
    SELECT s.address_id, s.details::text, s.received_at FROM channel_address_states s
    WHERE s.account_id = n.account_id AND s.user_id = n.name AND s.user_id <> '' AND s.channel = n.channel AND s.reason = ''
    ORDER BY s.received_at DESC LIMIT 10
  ) a WHERE n.channel IN ('push', 'web', 'bale', 'eitaa', 'rubika')
  UNION ALL
  SELECT n.at, 'address', a.address_id, a.details, a.received_at FROM names n CROSS JOIN LATERAL (
    SELECT s.address_id, s.details::text, s.received_at FROM channel_address_states s
    WHERE s.account_id = n.account_id AND s.anonymous_id = n.name AND s.anonymous_id <> '' AND s.user_id = '' AND s.channel = n.channel AND s.reason = ''
    ORDER BY s.received_at DESC LIMIT 10
  ) a WHERE n.channel = 'push'
  UNION ALL
  (SELECT DISTINCT ON (n.at) n.at, 'consent', c.state, NULL, c.received_at FROM names n CROSS JOIN LATERAL (
    SELECT t.state, t.received_at, t.gateway, t.sequence FROM channel_consents t
    WHERE t.account_id = n.account_id AND t.user_id = n.name AND t.channel = n.channel OFFSET 0
  ) c ORDER BY n.at, c.received_at DESC, c.gateway COLLATE "C" DESC, c.sequence DESC)
  UNION ALL
  SELECT n.at, 'opt_out', NULL, NULL, max(o.received_at) FROM names n CROSS JOIN LATERAL (
    SELECT t.received_at FROM announced_opt_outs t
    WHERE t.account_id = n.account_id AND t.user_id = n.name AND t.channel = n.channel OFFSET 0
  ) o GROUP BY n.at
  UNION ALL
  SELECT n.at, 'complaint', NULL, NULL, max(c.received_at) FROM names n CROSS JOIN LATERAL (
    SELECT t.received_at FROM channel_suppressions t
    WHERE t.account_id = n.account_id AND t.user_id = n.name AND t.user_id <> '' AND t.channel = n.channel AND t.suppressed AND t.reason LIKE 'complaint%' OFFSET 0
  ) c WHERE n.channel IN ('email', 'sms') GROUP BY n.at;
END $$;

-- Which of these addresses nothing is sent to, by their number from 1.
CREATE FUNCTION suppressed_addresses(accounts bigint[], channels text[], addresses text[])
RETURNS TABLE (at integer)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT w.at::integer FROM unnest(accounts, channels, addresses) WITH ORDINALITY AS w (account_id, channel, address, at)
  CROSS JOIN LATERAL (
    SELECT 1 FROM channel_suppressions s
    WHERE s.account_id = w.account_id AND s.channel = w.channel AND s.address = w.address AND s.suppressed OFFSET 0
  ) s;
END $$;
