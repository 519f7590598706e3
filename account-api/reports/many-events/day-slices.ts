import type { SqlParams } from '../../../platform/clickhouse/sql.ts';

const DAY_MS = 86_400_000;

/** Some days (UTC, since 1970) of a report; undefined: all before, and all after. */
export interface DaySlice {
  from?: number;
  before?: number;
}

/** So many slices at most, which together have each day once. */
export function daySlices({ from, to }: { from: number; to: number }, most: number): DaySlice[] {
  const [first, last] = [Math.floor(from / DAY_MS), Math.floor(to / DAY_MS)];
  const slices = Math.max(1, Math.min(most, last - first + 1));
  const begin = (at: number): number => first + Math.round((at * (last - first + 1)) / slices);
  return Array.from({ length: slices }, (_, at) => ({
    ...(at === 0 ? {} : { from: begin(at) }),
    ...(at === slices - 1 ? {} : { before: begin(at + 1) }),
  }));
}

/** Conditions on the day of an event, which the table is ordered by. */
export function sliceSql({ from, before }: DaySlice, params: SqlParams): string[] {
  const day = (of: number): string => `toDate(${params.whole(of)})`;
  return [
    ...(from === undefined ? [] : [`toDate(timestamp) >= ${day(from)}`]),
    ...(before === undefined ? [] : [`toDate(timestamp) < ${day(before)}`]),
  ];
}
