import type { Database } from '../../platform/postgres/pool.ts';

/** `taken`: the code belongs to another target or account, which stays as it is. */
export type StoredLink = 'created' | 'known' | 'taken';

/** Stores a mapping unless its code is stored already; never overwrites (ingest 4.7). */
export async function storeLink(
  database: Pick<Database, 'query'>,
  link: { code: string; accountId: number; target: string },
): Promise<StoredLink> {
  const { code, accountId, target } = link;
  const made = await database.query(
    'INSERT INTO short_links (code, account_id, target) VALUES ($1, $2, $3) ON CONFLICT (code) DO NOTHING',
    [code, accountId, target],
  );
  if (made.rowCount === 1) return 'created';
  const found = await database.query(
    'SELECT 1 FROM short_links WHERE code = $1 AND account_id = $2 AND target = $3',
    [code, accountId, target],
  );
  return found.rowCount === 1 ? 'known' : 'taken';
}
