import type { SqlParams } from './sql.ts';

const DAY = 86_400_000;
/** ClickHouse's type Date has no days before 1970, and none long after this. */
export const DAYS_UNTIL = Date.UTC(2100, 0, 1);

/**
 * Conditions on the time of events, epoch milliseconds. `events` is ordered by the day of an event,
 * then by its person: without a condition on the day itself ClickHouse reads the whole month. That
 * condition only chooses what is read (indexHint): no row is tested for it again.
 */
export function sinceSql(time: number, params: SqlParams): string {
  return `timestamp >= ${params.instant(Math.max(0, time))}${daySql('>=', time, params)}`;
}

export function untilSql(time: number, params: SqlParams): string {
  return `timestamp <= ${params.instant(Math.max(0, time))}${daySql('<=', time, params)}`;
}

export function beforeSql(time: number, params: SqlParams): string {
  // of a midnight, the last of these days is the one before
  return `timestamp < ${params.instant(Math.max(0, time))}${daySql('<=', time - 1, params)}`;
}

function daySql(compare: '>=' | '<=', time: number, params: SqlParams): string {
  if (time <= 0 || time >= DAYS_UNTIL) return '';
  // toDate() takes a small number as a day since 1970; statements have 128 KiB at most
  return ` AND indexHint(toDate(timestamp) ${compare} toDate(${params.whole(Math.floor(time / DAY))}))`;
}
