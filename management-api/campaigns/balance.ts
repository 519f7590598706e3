import type { Database } from '../../platform/postgres/pool.ts';
import type { ReadStats } from './ports.ts';

/** The balance of a campaign's messages, without what people did with them. */
export function balanceReader(database: Pick<Database, 'query'>): ReadStats {
  return async ({ accountId, campaignId }) => {
    const { rows } = await database.query<{ status: string; reason: string; messages: number }>(
      `WITH runs AS (SELECT id, planned FROM campaign_runs WHERE campaign_id = $2 AND account_id = $1)
       SELECT 'planned' AS status, '' AS reason, coalesce(sum(planned), 0)::float8 AS messages FROM runs
       UNION ALL SELECT c.status, c.reason, sum(c.messages)::float8 FROM campaign_run_counts c JOIN runs ON runs.id = c.run_id GROUP BY c.status, c.reason`,
      [accountId, campaignId],
    );
    const count = (status: string) =>
      rows.reduce((sum, row) => sum + (row.status === status ? row.messages : 0), 0);
    const byReason = (status: string) =>
      Object.fromEntries(
        rows.filter((row) => row.status === status).map((row) => [row.reason, row.messages]),
      );
    const [planned, sent, failed] = [count('planned'), count('sent'), count('failed')];
    const [withheld, skipped] = [count('withheld'), count('skipped')];
    return {
      ...{ planned, sent, failed, withheld, skipped },
      in_flight: planned - sent - failed - withheld - skipped,
      ...{ skipped_by_reason: byReason('skipped'), failed_by_reason: byReason('failed') },
      ...{ opened: 0, clicked: 0, converted: 0, revenue: 0, uplift: null },
    };
  };
}
