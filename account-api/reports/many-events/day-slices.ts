import { beforeSql, sinceSql } from '../../../platform/clickhouse/event-time.ts';
import type { SqlParams } from '../../../platform/clickhouse/sql.ts';

const DAY_MS = 86_400_000;

/** Whole days (UTC) of a report, epoch milliseconds; undefined: all before, and all after. */
export interface DaySlice {
  from?: number;
  before?: number;
}

/** So many slices at most, which together have each day once. */
export function daySlices({ from, to }: { from: number; to: number }, most: number): DaySlice[] {
  const first = Math.floor(from / DAY_MS);
  const days = Math.floor(to / DAY_MS) - first + 1;
  const slices = Math.max(1, Math.min(most, days));
  const begin = (at: number): number => (first + Math.round((at * days) / slices)) * DAY_MS;
  return Array.from({ length: slices }, (_, at) => ({
    ...(at === 0 ? {} : { from: begin(at) }),
    ...(at === slices - 1 ? {} : { before: begin(at + 1) }),
  }));
}

export function sliceSql({ from, before }: DaySlice, params: SqlParams): string[] {
  return [
    ...(from === undefined ? [] : [sinceSql(from, params)]),
    ...(before === undefined ? [] : [beforeSql(before, params)]),
  ];
}
