import type { ClickHouseClient } from '@clickhouse/client';
import { readRows } from '../platform/clickhouse/rows.ts';
import type { SqlParams } from '../platform/clickhouse/sql.ts';
import { onAccount } from '../platform/clickhouse/shards.ts';

/**
 * How distinct ids become people (reports: People). 'none': the account has no aliases, each
 * distinct id is a person. 'table': `identities_flat` (account_id, name, canonical) maps aliased
 * distinct ids to their person; ids without an alias are not in it.
 */
export type Merges = 'none' | 'table';

/** Whether an account has aliases and its reports need the join. Ask before the query. */
export type MergesOf = (accountId: number, signal: AbortSignal) => Promise<Merges>;

/** One primary-key read of `identities_flat`. */
export function mergesOf(client: ClickHouseClient): MergesOf {
  return async (accountId, signal) => {
    const sql = 'SELECT 1 AS one FROM identities_flat WHERE account_id = {account:UInt64} LIMIT 1';
    const rows = await readRows<{ one: number }>({
      client: onAccount(client, accountId),
      sql,
      params: { account: accountId },
      signal,
    });
    return rows.length === 0 ? 'none' : 'table';
  };
}

export interface PeopleSql {
  /** What follows FROM. */
  source: string;
  /** The person of a row, UInt64: sipHash64 of the person's distinct id. */
  person: string;
}

interface PeopleContext {
  table?: 'events' | 'addresses FINAL' | 'messages' | 'messages FINAL';
  merges: Merges;
  accountId: number;
  params: SqlParams;
}

/** Distinct ids with an alias, and their people. */
export function mergedSql({ accountId, params }: Omit<PeopleContext, 'merges'>): string {
  return `SELECT sipHash64(name) AS joined_name, sipHash64(canonical) AS joined_person
    FROM identities_flat FINAL
    WHERE account_id = ${params.whole(accountId)} AND name != canonical`;
}

/**
 * Rows of `events`, or of another table with a `_person`, with their people: with merges, one hash
 * table probe per row. `merged`: the name under which the statement defines mergedSql(); by default
 * the SQL is written out.
 */
export function peopleSql(context: PeopleContext, merged = `(${mergedSql(context)})`): PeopleSql {
  const { table = 'events' } = context;
  if (context.merges === 'none') return { source: table, person: '_person' };
  return {
    source: `${table} LEFT ANY JOIN ${merged} AS identities ON _person = joined_name`,
    // a row without a match has 0 in both
    person: 'if(joined_name = _person, joined_person, _person)',
  };
}
