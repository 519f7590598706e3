import { SESSION_MS } from '../../events/channels/onsite/targeting.ts';
import type { Database } from '../../platform/postgres/pool.ts';

const ROWS_PER_STATEMENT = 5000;
const MAX_STATEMENTS = 200;

/**
 * Removes who has seen campaigns that have ended, and who saw a campaign of frequency `session` in
 * a session that is over. In small statements; what is left is removed the next time. Resolves with
 * the number of rows.
 */
export async function sweepShown(database: Pick<Database, 'query'>): Promise<number> {
  let removed = 0;
  for (let statement = 0; statement < MAX_STATEMENTS; statement++) {
    const { rows } = await database.query<{ count: number }>(
      `WITH over AS (
         SELECT s.account_id, s.visitor, s.campaign_id
         FROM onsite_campaigns c CROSS JOIN LATERAL (
           SELECT account_id, visitor, campaign_id FROM onsite_shown
           WHERE campaign_id = c.id AND shown_at < CASE
             WHEN NOT c.enabled OR coalesce(c.ends_at, 'infinity') <= now() THEN 'infinity'::timestamptz
             WHEN c.definition->>'frequency' = 'once' THEN '-infinity'::timestamptz
             ELSE now() - $1 * interval '1 millisecond' END
           LIMIT ${ROWS_PER_STATEMENT}) s
         LIMIT ${ROWS_PER_STATEMENT}
       ), removed AS (
         DELETE FROM onsite_shown s USING over o
         WHERE s.account_id = o.account_id AND s.visitor = o.visitor AND s.campaign_id = o.campaign_id
         RETURNING s.account_id
       ), counts AS (
         SELECT account_id, count(*) AS rows FROM removed GROUP BY account_id ORDER BY account_id
       ), counted AS (
         UPDATE onsite_shown_counts c SET rows = greatest(0, c.rows - r.rows) FROM counts r WHERE c.account_id = r.account_id
       )
       SELECT coalesce(sum(rows), 0)::int AS count FROM counts`,
      [SESSION_MS],
    );
    const count = rows[0]?.count ?? 0;
    removed += count;
    if (count < ROWS_PER_STATEMENT) break;
  }
  return removed;
}
