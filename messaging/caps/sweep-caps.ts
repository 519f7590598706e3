import type { Database } from '../../platform/postgres/pool.ts';

const SWEEP = `DELETE FROM message_caps WHERE (account_id, channel, person) IN (
    SELECT account_id, channel, person FROM message_caps WHERE expires_at < clock_timestamp() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)`;

/** Removes rows of which nothing counts any more, at most `limit`; resolves with how many. */
export async function sweepCaps(database: Pick<Database, 'query'>, limit: number): Promise<number> {
  const { rowCount } = await database.query(SWEEP, [limit]);
  return rowCount ?? 0;
}
