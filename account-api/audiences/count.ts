import { SqlParams } from '../../platform/clickhouse/sql.ts';
import { dayOf } from '../../audiences/conditions/time-zone.ts';
import type { Merges, MergesOf } from '../../audiences/people-sql.ts';
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

interface CounterOptions {
  rowsOf: RowsOf;
  /** Absent: `rowsOf` finds it out. */
  mergesOf?: MergesOf;
}

export function audienceCounter({ rowsOf, mergesOf }: CounterOptions): CountAudience {
  return async ({ accountId, audience, now, signal }) => {
    const merges = await mergesOf?.(accountId, signal);
    const today = dayOf(now, 'Asia/Tehran');
    const compile = (of: Merges) => {
      const params = new SqlParams();
      const sql = compileCount(audience, { accountId, now, today, merges: of, params });
      return { sql, params: params.values() };
    };
    const { rows } = await rowsOf({
      ...{ accountId, merges, signal, compile, compiled: compile(merges ?? 'none') },
      reads: countReads(audience, now),
      moment: { asOf: now, key: [audience, today] },
    });
    const [row] = rows as { count: number }[];
    if (!row) throw new Error('the count query returned no row');
    return row.count;
  };
}
