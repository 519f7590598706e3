import type { ClickHouseClient } from '@clickhouse/client';
import type { Merges } from './people-sql.ts';
import { readRows } from './rows.ts';

/**
 * Whether names of an account were ever joined: only then its reports pay for looking. Ask it
 * before the query that rests on it.
 */
export type MergesOf = (accountId: number, signal: AbortSignal) => Promise<Merges>;

/** One look by primary key into identities_flat. */
export function mergesOf(client: ClickHouseClient): MergesOf {
  return async (accountId, signal) => {
    const sql = 'SELECT 1 AS one FROM identities_flat WHERE account_id = {account:UInt64} LIMIT 1';
    const rows = await readRows<{ one: number }>({
      client,
      sql,
      params: { account: accountId },
      signal,
    });
    return rows.length === 0 ? 'none' : 'table';
  };
}
