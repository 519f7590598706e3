import type { Database } from '../../../platform/postgres/pool.ts';
import type { InstancePlan } from './plan.ts';

/** A campaign whose next instance is due. */
export interface DueCampaign {
  id: number;
  accountId: number;
  status: string;
  /** Of the definition and the recurrence. */
  version: number;
  approvedVersion: number | undefined;
  /** {rule, starts_at, time_zone} */
  recurrence: unknown;
  /** ms since the epoch */
  nextAt: number;
  /** Of the account, those that are due and have not ended. */
  activeRuns: number;
}

/** The recurrences of campaigns in PostgreSQL. Each method is one statement. */
export class InstanceStore {
  readonly #database: Pick<Database, 'query'>;

  constructor(database: Pick<Database, 'query'>) {
    this.#database = database;
  }

  /**
   * Campaigns of active accounts with an instance that is due; accounts take turns.
   * @param now ms since the epoch
   */
  async due({ now, limit }: { now: number; limit: number }): Promise<DueCampaign[]> {
    const { rows } = await this.#database.query<{
      id: string;
      account_id: string;
      status: string;
      version: number;
      approved_version: number | null;
      recurrence: unknown;
      next_ms: string;
      active_runs: number;
    }>(
      `SELECT c.id, c.account_id, c.status, c.version, c.approved_version, c.recurrence, (extract(epoch FROM c.next_at) * 1000)::bigint AS next_ms,
         (SELECT count(*) FROM campaign_runs r WHERE r.account_id = c.account_id AND (r.state IN ('confirm', 'planning', 'sending') OR (r.state = 'scheduled' AND r.due_at <= $2::timestamptz)))::integer AS active_runs
       FROM campaigns c JOIN accounts a ON a.id = c.account_id
       WHERE c.next_at <= $2::timestamptz AND a.status = 'active'
       ORDER BY row_number() OVER (PARTITION BY c.account_id ORDER BY c.next_at, c.id), c.next_at, c.id LIMIT $1`,
      [limit, new Date(now).toISOString()],
    );
    return rows.map((row) => ({
      id: Number(row.id),
      accountId: Number(row.account_id),
      ...{ status: row.status, version: row.version },
      approvedVersion: row.approved_version ?? undefined,
      recurrence: row.recurrence,
      nextAt: Number(row.next_ms),
      activeRuns: row.active_runs,
    }));
  }

  /**
   * Records instances as runs and moves the campaign on, in one statement. A run that still waits
   * for a confirmation is missed, because the next one is due. False: the campaign has changed or
   * moved on, and nothing was recorded.
   */
  async record(
    { id, version, nextAt: seenAt }: Pick<DueCampaign, 'id' | 'version' | 'nextAt'>,
    { instances, nextAt }: InstancePlan,
  ): Promise<boolean> {
    const time = (ms: number) => new Date(ms).toISOString();
    const { rows } = await this.#database.query(
      `WITH moved AS (
         UPDATE campaigns SET next_at = $4::timestamptz, updated_at = clock_timestamp(),
           status = CASE
             WHEN 'scheduled' = ANY ($6::text[]) THEN CASE WHEN status IN ('draft', 'sent', 'failed') THEN 'scheduled' ELSE status END
             WHEN $4::timestamptz IS NULL AND status IN ('scheduled', 'paused') AND NOT EXISTS (SELECT 1 FROM campaign_runs a WHERE a.campaign_id = $1 AND NOT a.cancelled
               AND (a.state IN ('scheduled', 'planning', 'sending') OR (a.state = 'confirm' AND a.cause <> 'recurrence')))
               THEN coalesce((SELECT CASE e.state WHEN 'finished' THEN 'sent' ELSE 'failed' END FROM campaign_runs e
                 WHERE e.campaign_id = $1 AND e.state IN ('finished', 'failed') ORDER BY e.finished_at DESC, e.id DESC LIMIT 1), 'draft')
             ELSE status END
         WHERE id = $1 AND version = $2 AND next_at = $3::timestamptz RETURNING id, account_id, definition, version
       ), missed AS (
         UPDATE campaign_runs r SET state = 'missed', finished_at = clock_timestamp(),
           error = 'Nobody confirmed the late run before the next one was due.'
         FROM moved m WHERE r.campaign_id = m.id AND r.cause = 'recurrence' AND r.state = 'confirm'
       ), added AS (
         INSERT INTO campaign_runs (campaign_id, account_id, cause, state, due_at, definition, version, error, finished_at)
         SELECT m.id, m.account_id, 'recurrence', i.state, i.due_at, m.definition, m.version, i.error, CASE WHEN i.state = 'missed' THEN clock_timestamp() END
         FROM moved m, unnest($5::timestamptz[], $6::text[], $7::text[]) AS i (due_at, state, error)
         ON CONFLICT (campaign_id, due_at) WHERE cause = 'recurrence' DO NOTHING
       )
       SELECT id FROM moved`,
      [
        ...[id, version, time(seenAt), nextAt === null ? null : time(nextAt)],
        instances.map(({ dueAt }) => time(dueAt)),
        instances.map(({ state }) => state),
        instances.map(({ error }) => error),
      ],
    );
    return rows.length > 0;
  }
}
