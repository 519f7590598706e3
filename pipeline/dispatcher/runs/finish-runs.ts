import { SHOW_STATUS } from '../../../messaging/campaigns/status-sql.ts';
import type { Database } from '../../../platform/postgres/pool.ts';

/** A run that has ended. */
export interface EndedRun {
  id: number;
  campaignId: number;
  accountId: number;
  state: 'finished' | 'cancelled';
}

/** Runs of one statement. */
const RUNS = 200;

const IS_COUNTED = `r.planned <= (SELECT coalesce(sum(c.messages), 0) FROM campaign_run_counts c WHERE c.run_id = r.id)`;

/**
 * Ends the runs in which everybody has an outcome, and shows it in the status of their campaigns.
 * The planner ends those that never have recipients (pipeline/planner/statements.ts).
 */
const FINISH = `WITH complete AS (
    SELECT r.id FROM campaign_runs r
    WHERE r.state = 'sending' AND r.is_planned AND ${IS_COUNTED} AND NOT EXISTS (SELECT 1 FROM message_chunks m WHERE m.run_id = r.id AND NOT m.is_done)
    LIMIT ${RUNS} FOR UPDATE OF r SKIP LOCKED
  ), moved AS (
    UPDATE campaign_runs r SET state = CASE WHEN r.cancelled THEN 'cancelled' ELSE 'finished' END, finished_at = clock_timestamp()
    FROM complete c WHERE r.id = c.id AND r.state = 'sending' RETURNING r.id, r.campaign_id, r.account_id, r.state
  ), shown AS (${SHOW_STATUS})
  SELECT id::float8, campaign_id::float8, account_id::float8, state FROM moved`;

/** Rejects when PostgreSQL does. */
export async function finishRuns(database: Pick<Database, 'query'>): Promise<EndedRun[]> {
  const { rows } = await database.query<{
    id: number;
    campaign_id: number;
    account_id: number;
    state: EndedRun['state'];
  }>(FINISH);
  return rows.map(({ id, campaign_id, account_id, state }) => ({
    ...{ id, campaignId: campaign_id, accountId: account_id, state },
  }));
}

/**
 * Runs of which chunks have not arrived for so long after the last of them was written: the log
 * lost them, or holds them damaged. Their planner begins anew: it writes the same chunks, and those
 * that are in the queue stay as they are.
 */
const PLAN_AGAIN = `UPDATE campaign_runs r SET state = 'planning', is_planned = false, chunks = 0, last_key = '', leased_by = NULL, leased_until = NULL
  WHERE r.state = 'sending' AND r.is_planned AND r.turn_at < clock_timestamp() - $1 * interval '1 millisecond'
    AND (SELECT count(*) FROM message_chunks m WHERE m.run_id = r.id) < r.chunks
  RETURNING r.id::float8`;

/**
 * Answers the runs whose chunks are written again. Chunks that wait in the log must have been
 * copied before: the intake must have run for as long as `afterMs`.
 */
export async function planMissingChunks(
  database: Pick<Database, 'query'>,
  afterMs: number,
): Promise<number[]> {
  const { rows } = await database.query<{ id: number }>(PLAN_AGAIN, [afterMs]);
  return rows.map(({ id }) => id);
}
