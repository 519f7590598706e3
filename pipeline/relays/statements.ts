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

/**
 * Moves the position and writes queue, log and counts, or nothing if it is not ours. $26 is the
 * body of a single delivery: to read a large text in an array takes PostgreSQL ten times as long.
 */
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
    SELECT account_id, relay_id, epoch, $1, log_offset, log_index, message_id, event, CASE WHEN status <> 'succeeded' THEN coalesce(payload, $26::text) END, status, is_attempt::int, response_status, error,
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

/** Stored deliveries of each relay that has some. */
export const QUEUES = `SELECT relay_id, account_id, pending_rows, pending_bytes, dead_rows, dead_bytes FROM relay_queues WHERE pending_rows > 0 OR dead_rows > 0`;
