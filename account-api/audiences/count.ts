import { SqlParams } from '../../platform/clickhouse/sql.ts';
import { dayOf } from '../../audiences/conditions/time-zone.ts';
import type { MergesOf } from '../../audiences/people-sql.ts';
import { compileCount } from '../../audiences/compile.ts';
import type { Audience } from '../../audiences/definition.ts';
import type { RowsOf } from '../reports/run.ts';
import { countReads } from './count-reads.ts';

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
  rowsOf,
  mergesOf,
}: {
  rowsOf: RowsOf;
  mergesOf: MergesOf;
}): CountAudience {
  return async ({ accountId, audience, now, signal }) => {
    const merges = await mergesOf(accountId, signal);
    const params = new SqlParams();
    const today = dayOf(now, 'Asia/Tehran');
    const sql = compileCount(audience, { accountId, now, today, merges, params });
    const { rows } = await rowsOf({
      ...{ accountId, merges, signal, compiled: { sql, params: params.values() } },
      reads: countReads(audience, now),
      moment: { asOf: now, key: [audience, today] },
    });
    const [row] = rows as { count: number }[];
    if (!row) throw new Error('the count query returned no row');
    return row.count;
  };
}
