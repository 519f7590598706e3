import type { SqlParams } from '../../platform/clickhouse/sql.ts';

/** Time of an event as SQL, epoch milliseconds. */
export const EVENT_TIME = 'toUnixTimestamp64Milli(timestamp)';
/** A list of more cells is longer than what looking for a start takes. */
const MAX_CELLS = 1000;

/**
 * As SQL (Int64), the position of the last period that has begun at `time`: from 1 on, 0 before all
 * of them. Where a time zone skips a calendar day, two periods begin at the same instant; the later
 * one counts.
 *
 * Begins lie at multiples of some unit after the first, mostly a day or an hour: the position is a
 * division, and the place in a list of such cells where periods have unequally many of them.
 * @param time SQL of epoch milliseconds, Int64
 * @param starts in order, epoch milliseconds
 */
export function periodPositionSql(
  time: string,
  starts: readonly number[],
  params: SqlParams,
): string {
  const [first, last] = [starts[0] ?? 0, starts.at(-1) ?? 0];
  const unit = starts.reduce((divisor, start) => gcd(start - first, divisor), 0) || 1;
  const cells = (last - first) / unit + 1;
  const isIn = (position: string) =>
    `if(${time} < ${params.whole(first)}, toInt64(0), ${position})`;
  if (cells > MAX_CELLS) return isIn(searched(time, starts, params));
  const cell = `least(intDiv(${time} - ${params.whole(first)}, ${params.whole(unit)}), ${params.whole(cells - 1)}) + 1`;
  if (cells === starts.length) return isIn(cell);
  const positions = Array.from({ length: cells }, (_, at) => positionAt(starts, first + at * unit));
  return isIn(`arrayElement(${params.bind('Array(Int64)', positions)}, ${cell})`);
}

function searched(time: string, starts: readonly number[], params: SqlParams): string {
  const distinct = [...new Set(starts)];
  const at = params.bind('Array(Int64)', distinct);
  const positions = distinct.map((start) => positionAt(starts, start));
  return `transform(roundDown(${time}, ${at}), ${at}, ${params.bind('Array(Int64)', positions)}, toInt64(0))`;
}

function positionAt(starts: readonly number[], time: number): number {
  return starts.findLastIndex((start) => start <= time) + 1;
}

function gcd(one: number, other: number): number {
  return other === 0 ? one : gcd(other, one % other);
}
