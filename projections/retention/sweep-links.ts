import type { Database } from '../../platform/postgres/pool.ts';

type Queries = Pick<Database, 'query'>;

/** As long as tokens in messages are valid (0053_tracking.sql), and a day for clocks. */
const KEPT_DAYS = 401;
const ROWS_PER_STATEMENT = 5000;
/** Of one account; each link of each SMS takes one, of some 250 bytes. */
const MAX_LINKS = 10_000_000;

const ACCOUNTS = `WITH RECURSIVE known AS (
    SELECT (SELECT min(account_id) FROM short_links) AS id
    UNION ALL SELECT (SELECT min(account_id) FROM short_links WHERE account_id > k.id) FROM known k WHERE k.id IS NOT NULL
  ) SELECT id::float8 FROM known WHERE id IS NOT NULL UNION SELECT account_id::float8 FROM short_link_limits`;
const REMOVE = `DELETE FROM short_links WHERE code IN (
    SELECT code FROM short_links WHERE account_id = $1 AND created_at < now() - interval '${KEPT_DAYS} days' AND position('sg_mid=' IN target) > 0
    ORDER BY created_at LIMIT ${ROWS_PER_STATEMENT})`;
const LIMIT = `WITH counted AS (
    SELECT count(*) >= $2 AS is_full FROM (SELECT 1 FROM short_links WHERE account_id = $1 AND position('sg_mid=' IN target) > 0 LIMIT $2) AS own
  ), ended AS (
    DELETE FROM short_link_limits WHERE account_id = $1 AND NOT (SELECT is_full FROM counted)
  )
  INSERT INTO short_link_limits (account_id) SELECT $1 FROM counted WHERE is_full ON CONFLICT DO NOTHING`;

/**
 * Removes short links of messages that are as old as no message that counts, in small statements,
 * and records which accounts may store no more of them. Those that operators made stay. Resolves
 * with the number of links.
 */
export async function sweepLinks(
  database: Queries,
  { signal, max = MAX_LINKS }: { signal: AbortSignal; max?: number },
): Promise<number> {
  let removed = 0;
  const { rows } = await database.query<{ id: number }>(ACCOUNTS);
  for (const { id } of rows) {
    for (let count = ROWS_PER_STATEMENT; count === ROWS_PER_STATEMENT; removed += count) {
      signal.throwIfAborted();
      count = (await database.query(REMOVE, [id])).rowCount ?? 0;
    }
    await database.query(LIMIT, [id, max]);
  }
  return removed;
}
