/** Relays with deliveries that have been pending for more than $1 seconds. */
export const WITH_EXPIRED = `SELECT q.relay_id, q.account_id FROM relay_queues q
  WHERE q.pending_rows > 0 AND EXISTS (
    SELECT FROM relay_deliveries d WHERE d.relay_id = q.relay_id AND d.status = 'pending' AND d.pending_since < now() - make_interval(secs => $1::float8)
  ) LIMIT 1000`;

/** Rows of one statement of maintenance. */
export const MAINTENANCE_ROWS = 1000;

/** Ends deliveries of relay $1 that have been pending for $2 seconds; deletes them unless $4. */
export const EXPIRE_PENDING = `WITH old AS (
    SELECT id FROM relay_deliveries
    WHERE relay_id = $1::bigint AND status = 'pending' AND pending_since < now() - make_interval(secs => $2::float8) AND (leased_until IS NULL OR leased_until < now())
    ORDER BY pending_since LIMIT ${MAINTENANCE_ROWS} FOR UPDATE SKIP LOCKED
  ), kept AS (
    UPDATE relay_deliveries d SET status = 'dead', next_attempt_at = NULL, finished_at = now(), leased_until = NULL, lease_owner = NULL, error = coalesce(d.error, $3::text)
    FROM old WHERE d.id = old.id AND $4::bool RETURNING d.id
  ), removed AS (
    DELETE FROM relay_deliveries d USING old WHERE d.id = old.id AND NOT $4::bool RETURNING d.id
  ), ended AS (
    SELECT (SELECT count(*) FROM kept) + (SELECT count(*) FROM removed) AS rows
  ), counted AS (
    INSERT INTO relay_hours AS h (relay_id, hour, dead) SELECT $1::bigint, date_trunc('hour', now()), rows FROM ended WHERE rows > 0
    ON CONFLICT (relay_id, hour) DO UPDATE SET dead = h.dead + excluded.dead
  )
  SELECT rows::int FROM ended`;

/** Relays that logged successes recently. */
export const WITH_SUCCESSES = `SELECT DISTINCT relay_id FROM relay_hours WHERE hour >= date_trunc('hour', now() - interval '1 hour') AND succeeded > 0`;

/** Successes of these relays beyond their newest $2. */
export const PRUNE_SUCCESSES = `DELETE FROM relay_deliveries WHERE id IN (
    SELECT d.id FROM unnest($1::bigint[]) AS r (relay_id)
    CROSS JOIN LATERAL (
      SELECT id FROM relay_deliveries WHERE relay_id = r.relay_id AND status = 'succeeded' ORDER BY id DESC OFFSET $2 LIMIT ${MAINTENANCE_ROWS}
    ) d LIMIT ${MAINTENANCE_ROWS}
  )`;

export const PRUNE_DEAD = `DELETE FROM relay_deliveries WHERE id IN (
    SELECT id FROM relay_deliveries WHERE status = 'dead' AND finished_at < now() - make_interval(secs => $1::float8) ORDER BY finished_at LIMIT ${MAINTENANCE_ROWS}
  )`;

export const PRUNE_HOURS = `DELETE FROM relay_hours WHERE (relay_id, hour) IN (
    SELECT relay_id, hour FROM relay_hours WHERE hour < now() - interval '400 days' ORDER BY hour LIMIT ${MAINTENANCE_ROWS}
  )`;

/** Due rows, at most 1,000 of each relay; rows of disabled relays are not due. */
export const DUE_ROWS = `SELECT coalesce(sum(d.rows), 0)::int AS due, greatest(0, coalesce(extract(epoch FROM now() - min(d.oldest))::float8, 0)) * 1000 AS oldest
  FROM relay_queues q JOIN relays r ON r.id = q.relay_id AND r.enabled
  CROSS JOIN LATERAL (
    SELECT count(*) AS rows, min(next_attempt_at) AS oldest FROM (
      SELECT next_attempt_at FROM relay_deliveries WHERE relay_id = q.relay_id AND status = 'pending' AND next_attempt_at <= now() ORDER BY next_attempt_at LIMIT 1000
    ) first
  ) d
  WHERE q.pending_rows > 0`;

/**
 * Disables relays without a success in $1 seconds, whose attempts failed already at the beginning
 * of that time and a hundred times since; with an audit line for each.
 */
export const DISABLE_FAILING = `WITH failing AS (
    SELECT r.id FROM relay_queues q JOIN relays r ON r.id = q.relay_id
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(succeeded), 0) AS succeeded, coalesce(sum(failed_attempts), 0) AS failed, min(hour) FILTER (WHERE failed_attempts > 0) AS since
      FROM relay_hours h WHERE h.relay_id = r.id AND h.hour >= now() - make_interval(secs => $1::float8)
    ) h
    WHERE r.enabled AND r.updated_at < now() - make_interval(secs => $1::float8) AND (q.pending_rows > 0 OR q.dead_rows > 0)
      AND h.succeeded = 0 AND h.failed >= 100 AND h.since < now() - make_interval(secs => 0.8 * $1::float8)
    LIMIT 100
  ), disabled AS (
    UPDATE relays r SET enabled = false, disabled_reason = $2::text, updated_at = clock_timestamp() FROM failing WHERE r.id = failing.id AND r.enabled
    RETURNING r.id, r.account_id
  ), line AS (
    INSERT INTO audit_lines (account_id, actor, action, details) SELECT account_id, 'service:relays', 'relay.disabled', jsonb_build_object('relay_id', id, 'reason', $2::text) FROM disabled
  )
  SELECT id, account_id FROM disabled`;
