import { visitorHash, visitorText } from '../../events/channels/onsite/visitor.ts';
import { escapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { PersonRows } from './clickhouse-rows.ts';

type Person = Pick<PersonRows, 'accountId' | 'names'>;

/** Removes the entries of the person's inboxes. */
export async function removeInbox(
  database: Pick<Database, 'query'>,
  { accountId, names }: Person,
): Promise<number> {
  const { rowCount } = await database.query(
    'DELETE FROM inbox_entries WHERE account_id = $1 AND user_id = ANY($2::text[])',
    [accountId, names.map(escapeText)],
  );
  return rowCount ?? 0;
}

/**
 * Removes which on-site campaigns the person has seen. The members of audiences are hashes that are
 * computed anew within a minute after the profiles are removed.
 */
export async function removeShownCampaigns(
  database: Pick<Database, 'query'>,
  { accountId, names }: Person,
): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `WITH removed AS (
       DELETE FROM onsite_shown WHERE account_id = $1 AND visitor IN (SELECT decode(hash, 'hex') FROM unnest($2::text[]) AS v (hash)) RETURNING 1
     ), counted AS (
       UPDATE onsite_shown_counts SET rows = greatest(0, rows - (SELECT count(*) FROM removed)) WHERE account_id = $1
     )
     SELECT count(*)::int AS count FROM removed`,
    [accountId, names.map((name) => visitorText(visitorHash(accountId, name)))],
  );
  return rows[0]?.count ?? 0;
}
