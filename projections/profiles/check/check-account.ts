import type { ClickHouseClient } from '@clickhouse/client';
import { keptFrom } from '../../../events/retention.ts';
import type { KafkaSettings } from '../../../platform/kafka/connection.ts';
import { escapeText, unescapeText } from '../../../platform/postgres/escaped-text.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { bothProcessed } from './bounds.ts';
import { compareProfiles, MAX_DIFFERENCES, type Comparison, type Selection } from './compare.ts';

export interface CheckContext {
  client: ClickHouseClient;
  cluster: string;
  database: Pick<Database, 'query'>;
  settings: KafkaSettings;
  signal: AbortSignal;
}

/** Retention runs once a day, with a margin for rows in flight. */
const RETENTION_SLACK_MS = 2 * 86_400_000;
/** Distinct ids that one share of an account has about. */
const SHARE_SIZE = 100_000;

/** How many shares the people of an account make: each check compares one of them. */
export async function sharesOf(
  { client }: Pick<CheckContext, 'client'>,
  accountId: number,
): Promise<number> {
  const answer = await client.query({
    query: 'SELECT count() AS n FROM profiles WHERE account_id = {account:UInt64}',
    query_params: { account: accountId },
    format: 'JSONEachRow',
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0, max_execution_time: 60 },
  });
  const [row] = await answer.json<{ n: number }>();
  return Math.max(1, Math.ceil((row?.n ?? 0) / SHARE_SIZE));
}

/**
 * Compares a selection of the profiles of an account, those that differ a second time with later
 * bounds, and those that a former check found. Writes what differs both times to
 * profile_differences and removes what is equal now.
 */
export async function checkAccount(
  context: CheckContext,
  { accountId, selection }: { accountId: number; selection: Selection },
): Promise<Comparison> {
  const wholeFrom = await oldestWhole(context, accountId);
  const compare = async (of: Selection) =>
    compareProfiles({
      ...{ ...context, accountId, selection: of, wholeFrom },
      bounds: await bothProcessed(context),
    });
  const first = await compare(selection);
  const known = await knownDifferences(context, accountId);
  const suspects = [...new Set([...known, ...first.differences.map(({ name }) => name)])];
  if (suspects.length === 0) return first;
  const again = await compare({ names: suspects });
  await replaceDifferences(context, { accountId, names: suspects, comparison: again });
  const isNew = new Set(first.differences.map(({ name }) => name));
  const confirmed = again.differences.filter(({ name }) => isNew.has(name));
  return {
    compared: first.compared,
    movedOn: first.movedOn,
    // Beyond the list nothing was compared twice.
    differing: first.differing > MAX_DIFFERENCES ? first.differing : confirmed.length,
    differences: again.differences,
  };
}

/** Events with this timestamp or a later one have not been deleted by retention. */
async function oldestWhole({ database }: CheckContext, accountId: number): Promise<number> {
  const { rows } = await database.query<{ days: number; below: number | null }>(
    `SELECT retention_days AS days, (SELECT extract(epoch FROM max(below))::float8 * 1000 FROM retention_limits WHERE account_id = $1) AS below
     FROM accounts WHERE id = $1`,
    [accountId],
  );
  const [row] = rows;
  const retentions = new Map(row ? [[accountId, row.days]] : []);
  const kept = keptFrom(retentions, accountId, Date.now());
  return Math.max(kept + RETENTION_SLACK_MS, row?.below ?? 0);
}

async function knownDifferences({ database }: CheckContext, accountId: number): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(
    `SELECT name FROM profile_differences WHERE account_id = $1 ORDER BY found_at LIMIT ${MAX_DIFFERENCES}`,
    [accountId],
  );
  return rows.map(({ name }) => unescapeText(name));
}

async function replaceDifferences(
  { database }: CheckContext,
  found: { accountId: number; names: readonly string[]; comparison: Comparison },
): Promise<void> {
  const { accountId, names, comparison } = found;
  const { differences, movedOn } = comparison;
  // Of those that moved on nothing is known: they stay.
  const differing = new Set(differences.map(({ name }) => name));
  const equal = movedOn > 0 ? [] : names.filter((name) => !differing.has(name));
  await database.query(
    'DELETE FROM profile_differences WHERE account_id = $1 AND name = ANY ($2::text[])',
    [accountId, equal.map(escapeText)],
  );
  await database.query(
    `INSERT INTO profile_differences (account_id, name, folded, stored, kind)
     SELECT $1, d.* FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[]) AS d
     ON CONFLICT (account_id, name) DO UPDATE SET folded = excluded.folded, stored = excluded.stored, kind = excluded.kind`,
    [
      accountId,
      differences.map(({ name }) => escapeText(name)),
      differences.map(({ folded }) => folded),
      differences.map(({ stored }) => stored),
      differences.map(({ kind }) => kind),
    ],
  );
}

/** Profiles that lack events, of all accounts, as far as checks have found them. */
export async function lackingProfiles(database: Pick<Database, 'query'>): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM profile_differences WHERE kind = 'profile_lacks'",
  );
  return rows[0]?.n ?? 0;
}
