import type { Database } from '../../platform/postgres/pool.ts';

/**
 * `taken`: the code belongs to another target or account, which stays as it is, or the account has
 * as many links of messages as one may have (short_link_limits).
 */
export type StoredLink = 'created' | 'known' | 'taken';

export interface ShortLink {
  code: string;
  target: string;
}

/**
 * Stores mappings of an account whose codes are not stored yet; never overwrites (ingest 4.7).
 * Answers in the order of the links. Rejects when PostgreSQL does.
 */
export async function storeLinks(
  database: Pick<Database, 'query'>,
  accountId: number,
  links: readonly ShortLink[],
): Promise<StoredLink[]> {
  if (links.length === 0) return [];
  const created = await namesOf(
    database,
    // In one order, so that two statements never wait for each other.
    `INSERT INTO short_links (code, account_id, target) SELECT code, $1, target FROM unnest($2::text[], $3::text[]) AS l (code, target)
     WHERE position('sg_mid=' IN target) = 0 OR NOT EXISTS (SELECT 1 FROM short_link_limits WHERE account_id = $1) ORDER BY code ON CONFLICT (code) DO NOTHING RETURNING code, target`,
    { accountId, links },
  );
  const others = links.filter((link) => !created.has(nameOf(link)));
  const known = await namesOf(
    database,
    'SELECT code, target FROM short_links JOIN unnest($2::text[], $3::text[]) AS l (code, target) USING (code, target) WHERE account_id = $1',
    { accountId, links: others },
  );
  return links.map((link) => {
    if (created.has(nameOf(link))) return 'created';
    return known.has(nameOf(link)) ? 'known' : 'taken';
  });
}

async function namesOf(
  database: Pick<Database, 'query'>,
  statement: string,
  { accountId, links }: { accountId: number; links: readonly ShortLink[] },
): Promise<ReadonlySet<string>> {
  if (links.length === 0) return new Set();
  const { rows } = await database.query<ShortLink>(statement, [
    accountId,
    links.map(({ code }) => code),
    links.map(({ target }) => target),
  ]);
  return new Set(rows.map(nameOf));
}

function nameOf({ code, target }: ShortLink): string {
  return `${code} ${target}`;
}
