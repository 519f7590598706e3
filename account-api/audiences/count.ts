import type { ClickHouseClient } from '@clickhouse/client';
import { SqlParams } from '../../platform/clickhouse/sql.ts';
import { dayOf } from '../../audiences/conditions/time-zone.ts';
import type { MergesOf } from '../../audiences/people-sql.ts';
import { readRows } from '../../platform/clickhouse/rows.ts';
import { compileCount } from '../../audiences/compile.ts';
import type { Audience } from '../../audiences/definition.ts';

export interface CountRun {
  accountId: number;
  audience: Audience;
  /** ms since the epoch. */
  now: number;
  signal: AbortSignal;
}

/** Counts an audience; rejects when ClickHouse fails. */
export type CountAudience = (run: CountRun) => Promise<number>;

export function audienceCounter({
  client,
  mergesOf,
}: {
  client: ClickHouseClient;
  mergesOf: MergesOf;
}): CountAudience {
  return async ({ accountId, audience, now, signal }) => {
    const merges = await mergesOf(accountId, signal);
    const params = new SqlParams();
    const sql = compileCount(audience, {
      accountId,
      now,
      today: dayOf(now, 'Asia/Tehran'),
      merges,
      params,
    });
    const [row] = await readRows<{ count: number }>({
      client,
      sql,
      params: params.values(),
      signal,
    });
    if (!row) throw new Error('the count query returned no row');
    return row.count;
  };
}
