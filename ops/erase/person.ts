import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Connections } from '../jobs/connections.ts';
import { ClickhouseRows } from './clickhouse-rows.ts';
import { onAccount } from '../../platform/clickhouse/shards.ts';

type Queries = Pick<Database, 'query'>;

/** The distinct ids of a person, and others that an alias names beside them. */
export interface PersonNames {
  /** Erased: the given ones, and those that are merged with them now. */
  names: string[];
  /**
   * Not erased: an alias was undone or refused, or the two are kept apart. They are other people,
   * unless an operator gives them, too.
   */
  beside: string[];
}

const MERGED = `SELECT name FROM identity_names WHERE account_id = $1 AND canonical IN
  (SELECT canonical FROM identity_names WHERE account_id = $1 AND name = ANY($2::text[]))`;
const NAMED = `SELECT previous_id, user_id FROM alias_facts
  WHERE account_id = $1 AND (previous_id = ANY($2::text[]) OR user_id = ANY($2::text[]))`;

/** Resolves the names of a person by the identities as they are now (docs/erasure.md). */
export async function namesOf(
  database: Queries,
  accountId: number,
  given: readonly string[],
): Promise<PersonNames> {
  const own = given.map(escapeText);
  const merged = await database.query<{ name: string }>(MERGED, [accountId, own]);
  const names = [...new Set([...own, ...merged.rows.map(({ name }) => name)])];
  const named = await database.query<{ previous_id: string; user_id: string }>(NAMED, [
    accountId,
    names,
  ]);
  const beside = new Set(named.rows.flatMap(({ previous_id, user_id }) => [previous_id, user_id]));
  for (const name of names) beside.delete(name);
  return { names: names.map(unescapeText), beside: [...beside].map(unescapeText).sort() };
}

const ALIASED = `SELECT EXISTS (SELECT 1 FROM identity_names WHERE account_id = $1 AND name = ANY($2::text[]))
  OR EXISTS (SELECT 1 FROM alias_facts WHERE account_id = $1 AND user_id = ANY($2::text[]))
  OR EXISTS (SELECT 1 FROM erasures WHERE account_id = $1 AND names && $2::text[]
    AND state IN ('requested', 'recorded', 'enforced'))
  OR ${['channel_consents', 'channel_suppressions', 'message_recipients', 'inbox_entries', 'announced_opt_outs'].map((table) => `EXISTS (SELECT 1 FROM ${table} WHERE account_id = $1 AND user_id = ANY($2::text[]))`).join(' OR ')}
  OR EXISTS (SELECT 1 FROM channel_addresses WHERE account_id = $1 AND (user_id = ANY($2::text[]) OR anonymous_id = ANY($2::text[]))) AS known`;

/** Whether a store but the log holds something of the names, or their erasure is under way. */
export async function isKnown(
  { clickhouse, database, settings }: Pick<Connections, 'clickhouse' | 'database' | 'settings'>,
  accountId: number,
  names: readonly string[],
): Promise<boolean> {
  const { rows: found } = await database.query<{ known: boolean }>(ALIASED, [
    accountId,
    names.map(escapeText),
  ]);
  if (found[0]?.known === true) return true;
  const rows = new ClickhouseRows(onAccount(clickhouse, accountId), settings.CLICKHOUSE_CLUSTER);
  const where = await rows.namesWhere('profiles', { accountId, names });
  for (const table of ['profiles', 'events', 'messages'])
    if ((await rows.count(table, where)) > 0) return true;
  return false;
}
