import { SHOW_STATUS } from '../../messaging/campaigns/status-sql.ts';
import { SLICE_SIZES } from './run.ts';

/**
 * A run that starts later than this waits for a person to confirm it (docs/messages.md, Schedule,
 * pause, resume, cancel).
 */
const LATE = "interval '1 hour'";

/** Retries of a run's messages end so long after its first chunk. */
const DEADLINE = "interval '24 hours'";

/**
 * Recipients of a run that are written to messages.planned and have no outcome: with more of them
 * it gets no turn. So the dispatcher's queue is bounded for each run, and an account has at most
 * max_active_runs of them; a partition of the log never has to wait for an account.
 */
const MAX_WAITING = 400_000;
const WAITS_FOR_OUTCOMES = `least(r.chunks * ${SLICE_SIZES.chunk}::bigint, r.planned) - (SELECT coalesce(sum(c.messages), 0) FROM campaign_run_counts c WHERE c.run_id = r.id) >= ${MAX_WAITING}`;

const IS_FREE = `coalesce(r.leased_until, '-infinity') <= clock_timestamp()`;
const IS_ACTIVE = `EXISTS (SELECT 1 FROM accounts a WHERE a.id = r.account_id AND a.status = 'active')`;
const IS_LATE = `r.confirmed_at IS NULL AND r.due_at < clock_timestamp() - ${LATE}`;

/** What there is to do: three look-ups in indexes. */
export const LOOK = `
  SELECT EXISTS (SELECT 1 FROM campaigns WHERE next_at <= clock_timestamp()) AS instances,
    EXISTS (SELECT 1 FROM campaign_runs WHERE state = 'scheduled' AND due_at <= clock_timestamp()) AS due,
    EXISTS (SELECT 1 FROM campaign_runs WHERE state = 'planning') AS planning`;

/** $1 most runs. Runs that were about to be planned and are late by now are asked about, too. */
export const START_DUE = `
  WITH due AS (
    SELECT r.id FROM campaign_runs r WHERE r.state = 'scheduled' AND r.due_at <= clock_timestamp() AND ${IS_ACTIVE}
    ORDER BY r.due_at LIMIT $1 FOR UPDATE SKIP LOCKED
  ), late AS (
    SELECT r.id FROM campaign_runs r WHERE r.state = 'planning' AND r.frozen_at IS NULL AND ${IS_FREE} AND (r.cancelled OR ${IS_LATE})
    LIMIT $1 FOR UPDATE SKIP LOCKED
  ), moved AS (
    UPDATE campaign_runs r SET
      state = CASE WHEN r.cancelled THEN 'cancelled' WHEN ${IS_LATE} THEN 'confirm' ELSE 'planning' END,
      finished_at = CASE WHEN r.cancelled THEN clock_timestamp() END
    WHERE r.id IN (SELECT id FROM due UNION ALL SELECT id FROM late) RETURNING r.id, r.campaign_id, r.state
  ), shown AS (${SHOW_STATUS})
  SELECT state, count(*)::integer AS runs FROM moved GROUP BY state`;

/**
 * $1 holder, $2 seconds, $3 freezes, $4 slices. The account whose last lease is longest ago comes
 * first, and of its runs the one that was due first. The frozen people of a cancelled run get their
 * chunks too: each is skipped, and the balance closes.
 */
export const LEASE = `
  WITH RECURSIVE planning AS (
    (SELECT account_id FROM campaign_runs WHERE state = 'planning' ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (SELECT n.account_id FROM campaign_runs n WHERE n.state = 'planning' AND n.account_id > p.account_id ORDER BY n.account_id LIMIT 1)
    FROM planning p WHERE p.account_id IS NOT NULL
  ), busy AS (
    SELECT account_id, frozen_at IS NOT NULL AS is_frozen FROM campaign_runs
    WHERE state = 'planning' AND leased_by IS NOT NULL AND leased_until > clock_timestamp()
  ), ready AS (
    SELECT first.id, first.is_frozen, (SELECT max(t.turn_at) FROM campaign_runs t WHERE t.account_id = p.account_id) AS turn_at
    FROM planning p CROSS JOIN LATERAL (
      SELECT r.id, r.frozen_at IS NOT NULL AS is_frozen FROM campaign_runs r
      WHERE r.account_id = p.account_id AND r.state = 'planning' AND ${IS_FREE} AND (r.cancelled OR ${IS_ACTIVE})
        AND CASE WHEN r.frozen_at IS NULL THEN $3::boolean AND NOT r.cancelled AND NOT (${IS_LATE}) ELSE $4::boolean AND NOT (${WAITS_FOR_OUTCOMES}) END
        AND NOT EXISTS (SELECT 1 FROM busy b WHERE b.account_id = r.account_id AND b.is_frozen = (r.frozen_at IS NOT NULL))
      ORDER BY r.due_at, r.id LIMIT 1
    ) first
    WHERE p.account_id IS NOT NULL
    ORDER BY turn_at NULLS FIRST, first.id LIMIT 1
  ), chosen AS (
    SELECT r.id FROM campaign_runs r JOIN ready ON ready.id = r.id
    WHERE r.state = 'planning' AND ${IS_FREE} AND (r.frozen_at IS NOT NULL) = ready.is_frozen
    FOR UPDATE OF r SKIP LOCKED
  )
  UPDATE campaign_runs r SET
    leased_by = $1, leased_until = clock_timestamp() + make_interval(secs => $2), fence = r.fence + 1, turn_at = clock_timestamp(),
    freeze_attempt = CASE WHEN r.frozen_at IS NULL THEN r.freeze_attempt + 1 ELSE r.freeze_attempt END,
    deadline_at = CASE WHEN r.frozen_at IS NOT NULL AND r.chunks = 0 THEN clock_timestamp() + ${DEADLINE} ELSE r.deadline_at END
  FROM chosen WHERE r.id = chosen.id
  RETURNING r.id, r.campaign_id, r.account_id, r.definition, r.fence, r.freeze_attempt,
    (extract(epoch FROM r.frozen_at) * 1000)::bigint AS frozen_ms, r.planned, r.chunks, r.last_key`;

/** Rows of a run under its lease: $1 run, $2 fence. */
const HELD = 'id = $1 AND fence = $2';
const FREE = 'leased_by = NULL, leased_until = NULL';

/** $3 seconds. */
export const EXTEND = `
  UPDATE campaign_runs SET leased_until = clock_timestamp() + make_interval(secs => $3)
  WHERE ${HELD} AND leased_by IS NOT NULL RETURNING id`;

/** $3 seconds. */
export const RELEASE = `
  UPDATE campaign_runs SET leased_by = NULL, leased_until = CASE WHEN $3::float8 > 0 THEN clock_timestamp() + make_interval(secs => $3::float8) END
  WHERE ${HELD} RETURNING id`;

/**
 * $3 attempt, $4 when, $5 people, $6 {audience, identities_revision}. A run that was cancelled
 * meanwhile has planned nobody; an audience without people is finished.
 */
export const FREEZE = `
  WITH frozen AS (
    UPDATE campaign_runs SET ${FREE},
      frozen_at = CASE WHEN cancelled THEN NULL ELSE $4::timestamptz END, frozen = CASE WHEN cancelled THEN NULL ELSE $6::json END,
      planned = CASE WHEN cancelled THEN 0 ELSE $5::bigint END,
      is_planned = cancelled OR $5::bigint = 0,
      state = CASE WHEN cancelled THEN 'cancelled' WHEN $5::bigint = 0 THEN 'finished' ELSE state END,
      finished_at = CASE WHEN cancelled OR $5::bigint = 0 THEN clock_timestamp() END
    WHERE ${HELD} AND freeze_attempt = $3 AND frozen_at IS NULL AND state = 'planning'
    RETURNING id, campaign_id, account_id, planned, state
  ), counted AS (
    INSERT INTO message_totals (account_id, status, messages) SELECT account_id, 'planned', planned FROM frozen WHERE planned > 0
    ON CONFLICT (account_id, status) DO UPDATE SET messages = message_totals.messages + excluded.messages
  ), moved AS (SELECT id, campaign_id, state FROM frozen WHERE state <> 'planning'
  ), shown AS (${SHOW_STATUS})
  SELECT id FROM frozen`;

/** $3 chunks before, $4 chunks, $5 last key, $6 all chunks are written. */
export const CHECKPOINT = `
  UPDATE campaign_runs SET ${FREE}, chunks = $4, last_key = $5, is_planned = $6, state = CASE WHEN $6 THEN 'sending' ELSE state END
  WHERE ${HELD} AND chunks = $3 AND NOT is_planned RETURNING id`;

/** $3 error. A run that was cancelled meanwhile has not failed. */
export const FAIL = `
  WITH moved AS (
    UPDATE campaign_runs SET ${FREE}, state = CASE WHEN cancelled THEN 'cancelled' ELSE 'failed' END, error = CASE WHEN cancelled THEN '' ELSE $3 END,
      is_planned = true, finished_at = clock_timestamp()
    WHERE ${HELD} AND frozen_at IS NULL AND state = 'planning' RETURNING id, campaign_id, state
  ), shown AS (${SHOW_STATUS})
  SELECT id FROM moved`;

/**
 * How many runs of active accounts wait, and for how long those are due that are not planned, and
 * do not wait for the dispatcher.
 */
export const WAITING = `
  SELECT count(*) FILTER (WHERE r.state = 'scheduled')::integer AS due, count(*) FILTER (WHERE r.state = 'planning')::integer AS planning,
    count(*) FILTER (WHERE r.state = 'confirm')::integer AS confirm,
    coalesce(extract(epoch FROM clock_timestamp() - min(greatest(r.due_at, r.confirmed_at)) FILTER (WHERE r.state <> 'confirm' AND NOT (${WAITS_FOR_OUTCOMES}))), 0)::float8 AS late_seconds
  FROM campaign_runs r WHERE (r.state IN ('planning', 'confirm') OR (r.state = 'scheduled' AND r.due_at <= clock_timestamp())) AND ${IS_ACTIVE}`;
