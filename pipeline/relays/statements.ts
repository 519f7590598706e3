import type { Filter } from '../../events/relays/filter.ts';
import type { IN_FLIGHT, Outcome } from './delivery.ts';

/** A row of RELAYS; without any relay there is one whose id is null. */
export interface RelayResult {
  revision: string;
  id: string | null;
  account_id: string;
  url: string;
  events: string[];
  filters: Filter[];
  secret: Buffer | null;
  active_since: number;
}

export interface ClaimResult {
  id: string;
  relay_id: string;
  account_id: string;
  epoch: number;
  partition: number;
  log_offset: string;
  log_index: number;
  message_id: string;
  event: string;
  payload: string;
  attempts: number;
}

export interface QueueResult {
  relay_id: string;
  account_id: string;
  pending_rows: string;
  pending_bytes: string;
  dead_rows: string;
  dead_bytes: string;
}

interface OutcomeColumns {
  status: 'pending' | 'succeeded' | 'dead';
  isAttempt: boolean;
  isInFlight: boolean;
  responseStatus: number | null;
  error: string | null;
  /** ms */
  delay: number;
}

/** The columns of an outcome. */
export function columnsOf(outcome: Outcome | typeof IN_FLIGHT): OutcomeColumns {
  const nothing = {
    isAttempt: false,
    isInFlight: false,
    responseStatus: null,
    error: null,
    delay: 0,
  };
  switch (outcome.kind) {
    case 'in_flight':
      return { ...nothing, status: 'pending', isInFlight: true };
    case 'waiting':
      return { ...nothing, status: 'pending', error: outcome.error, delay: outcome.delay };
    case 'succeeded':
      return { ...nothing, status: 'succeeded', isAttempt: true, responseStatus: outcome.status };
    case 'retry':
      return {
        ...nothing,
        status: 'pending',
        isAttempt: true,
        responseStatus: outcome.status,
        error: outcome.error,
        delay: outcome.delay,
      };
    case 'dead':
      return {
        ...nothing,
        status: 'dead',
        isAttempt: true,
        responseStatus: outcome.status,
        error: outcome.error,
      };
    case 'given_up':
      return {
        ...nothing,
        status: 'dead',
        isAttempt: outcome.isAttempt,
        responseStatus: outcome.status,
        error: outcome.error,
      };
  }
}

export const RELAYS = `SELECT v.revision::text AS revision, r.id, r.account_id, r.url, r.events, r.filters, r.secret,
    extract(epoch FROM r.active_since)::float8 * 1000 AS active_since
  FROM relay_revision v LEFT JOIN relays r ON r.enabled AND EXISTS (SELECT FROM accounts a WHERE a.id = r.account_id AND a.status = 'active')
  ORDER BY r.id`;

export const POSITION =
  'SELECT epoch, log_offset, log_index FROM relay_positions WHERE partition = $1';

/**
 * Adds ended deliveries and failed attempts to relay_hours; `ended` has relay_id, status and
 * is_attempt. Ordered by relay, so that two such statements cannot deadlock.
 */
const COUNT_HOURS = `INSERT INTO relay_hours AS h (relay_id, hour, succeeded, dead, failed_attempts)
    SELECT relay_id, date_trunc('hour', now()), count(*) FILTER (WHERE status = 'succeeded'), count(*) FILTER (WHERE status = 'dead'),
      count(*) FILTER (WHERE is_attempt AND status <> 'succeeded')
    FROM ended WHERE is_attempt OR status = 'dead' GROUP BY relay_id ORDER BY relay_id
    ON CONFLICT (relay_id, hour) DO UPDATE SET succeeded = h.succeeded + excluded.succeeded, dead = h.dead + excluded.dead,
      failed_attempts = h.failed_attempts + excluded.failed_attempts`;

/** Moves the position and writes queue, log and counts, or nothing if it is not ours. */
export const COMPLETE = `WITH moved AS (
    INSERT INTO relay_positions AS p (partition, epoch, log_offset, log_index) VALUES ($1::int, $2::int, $3::bigint, $4::int)
    ON CONFLICT (partition) DO UPDATE SET epoch = excluded.epoch, log_offset = excluded.log_offset, log_index = excluded.log_index
      WHERE (p.epoch, p.log_offset, p.log_index) = ($5::int, $6::bigint, $7::int)
    RETURNING 1
  ), ended AS (
    SELECT e.* FROM unnest($10::int[], $11::bigint[], $12::bigint[], $13::int[], $14::bigint[], $15::int[], $16::text[], $17::text[], $18::text[], $19::text[],
        $20::bool[], $21::int[], $22::text[], $23::float8[], $24::bool[], $25::bool[])
      AS e (at, relay_id, account_id, epoch, log_offset, log_index, message_id, event, payload, status, is_attempt, response_status, error, delay, in_hand, kept)
    JOIN relays r ON r.id = e.relay_id
    WHERE EXISTS (SELECT FROM moved)
  ), logged AS (
    INSERT INTO relay_deliveries (account_id, relay_id, epoch, partition, log_offset, log_index, message_id, event, payload, status, attempts, response_status, error,
      next_attempt_at, leased_until, lease_owner, finished_at)
    SELECT account_id, relay_id, epoch, $1, log_offset, log_index, message_id, event, payload, status, is_attempt::int, response_status, error,
      CASE WHEN status = 'pending' THEN now() + make_interval(secs => delay) END,
      CASE WHEN in_hand THEN now() + make_interval(secs => $9::float8) END, CASE WHEN in_hand THEN $8::text END,
      CASE WHEN status <> 'pending' THEN now() END
    FROM ended WHERE kept ORDER BY at
    ON CONFLICT DO NOTHING
    RETURNING id, relay_id, epoch, log_offset, log_index
  ), counted AS (${COUNT_HOURS})
  SELECT EXISTS (SELECT FROM moved) AS moved,
    (SELECT json_agg(json_build_array(e.at, l.id)) FROM logged l JOIN ended e USING (relay_id, epoch, log_offset, log_index) WHERE e.in_hand) AS ids`;

export const FIND_IN_FLIGHT = `SELECT e.at, d.id FROM unnest($3::int[], $4::bigint[], $5::int[], $6::bigint[], $7::int[]) AS e (at, relay_id, epoch, log_offset, log_index)
  JOIN relay_deliveries d USING (relay_id, epoch, log_offset, log_index) WHERE d.partition = $2 AND d.lease_owner = $1 AND d.status = 'pending'`;

const IS_FREE = `status = 'pending' AND next_attempt_at <= now() AND (leased_until IS NULL OR leased_until < now())`;

/** The first due rows of each relay in the order of $1, at most $2 of each and $3 in total. */
export const DUE = `SELECT d.id, want.relay_id, d.bytes
  FROM (
    SELECT want.relay_id, want.room FROM unnest($1::bigint[], $2::int[]) WITH ORDINALITY AS want (relay_id, room, turn)
    JOIN relay_queues q ON q.relay_id = want.relay_id AND q.pending_rows > 0 ORDER BY want.turn
  ) want
  CROSS JOIN LATERAL (
    SELECT id, octet_length(payload) AS bytes FROM relay_deliveries
    WHERE relay_id = want.relay_id AND ${IS_FREE} ORDER BY next_attempt_at LIMIT want.room
  ) d
  LIMIT $3`;

/** Locks exactly the rows that it leases. */
export const CLAIM = `UPDATE relay_deliveries d SET leased_until = now() + make_interval(secs => $2::float8), lease_owner = $3
  FROM (SELECT id FROM relay_deliveries WHERE id = ANY($1::bigint[]) AND ${IS_FREE} FOR UPDATE SKIP LOCKED) due
  WHERE d.id = due.id
  RETURNING d.id, d.relay_id, d.account_id, d.epoch, d.partition, d.log_offset, d.log_index, d.message_id, d.event, d.payload, d.attempts`;

/** A row that the log does not keep is deleted. */
export const FINISH = `WITH given AS (
    SELECT * FROM unnest($2::bigint[], $3::text[], $4::bool[], $5::int[], $6::text[], $7::float8[], $8::bool[])
      AS g (id, status, is_attempt, response_status, error, delay, kept)
  ), changed AS (
    UPDATE relay_deliveries d SET
      status = g.status,
      attempts = d.attempts + g.is_attempt::int,
      response_status = CASE WHEN g.is_attempt THEN g.response_status ELSE d.response_status END,
      error = CASE WHEN g.is_attempt THEN g.error ELSE coalesce(g.error, d.error) END,
      payload = CASE WHEN g.status = 'succeeded' THEN NULL ELSE d.payload END,
      next_attempt_at = CASE WHEN g.status = 'pending' THEN greatest(now() + make_interval(secs => g.delay), CASE WHEN g.is_attempt THEN NULL ELSE d.next_attempt_at END) END,
      finished_at = CASE WHEN g.status <> 'pending' THEN now() END,
      leased_until = NULL,
      lease_owner = NULL
    FROM given g
    WHERE d.id = g.id AND g.kept AND d.lease_owner = $1 AND d.status = 'pending'
    RETURNING d.relay_id, d.status, g.is_attempt
  ), removed AS (
    DELETE FROM relay_deliveries d USING given g
    WHERE d.id = g.id AND NOT g.kept AND d.lease_owner = $1 AND d.status = 'pending'
    RETURNING d.relay_id, g.status, g.is_attempt
  ), ended AS (
    SELECT * FROM changed UNION ALL SELECT * FROM removed
  ) ${COUNT_HOURS}`;

/** Leased rows of a killed process with the same instance name are due at once. */
export const RELEASE = `UPDATE relay_deliveries SET leased_until = NULL, lease_owner = NULL
  WHERE status = 'pending' AND leased_until IS NOT NULL AND starts_with(lease_owner, $1)`;

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

/** Stored deliveries of each relay that has some. */
export const QUEUES = `SELECT relay_id, account_id, pending_rows, pending_bytes, dead_rows, dead_bytes FROM relay_queues WHERE pending_rows > 0 OR dead_rows > 0`;

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
