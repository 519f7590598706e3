import {
  eventRows,
  isSameEvent,
  membersOf,
  needsTieBreakers,
  periodOf,
  timeOf,
  type RetentionSqlContext,
} from './members-sql.ts';
import type { RetentionRequest } from './request.ts';

/**
 * SELECT of one row per member of a cohort: person, cohort, `pattern` with bit n set when they
 * returned in the n-th period, and the value of their first start event.
 */
export function retentionMembers(context: RetentionSqlContext): string {
  return isPlainFirstTime(context.request) ? firstTimeMembers(context) : membersOf(context);
}

/** Whether the first start event of a person is known by its time alone. */
export function isPlainFirstTime(request: RetentionRequest): boolean {
  return request.mode === 'first_time' && !needsTieBreakers(request);
}

/**
 * What membersOf() answers, where only a person's very first start counts and ties do not matter:
 * the first start is a minimum, so only returns are gathered, in no order. Where starts and returns
 * are the same events, the first one is in the array too, and is not its own return.
 */
function firstTimeMembers(context: RetentionSqlContext): string {
  const { request, periods } = context;
  const people = `SELECT person, minIf(key, is_start) AS first, groupArrayIf(key, is_return) AS rs FROM (${eventRows(context)}) GROUP BY person HAVING max(is_start)`;
  const inRange = `SELECT person, ${periodOf('first')} AS period, ${timeOf('first')} AS t, rs FROM (${people}) WHERE ${periodOf('first')} BETWEEN 1 AND ${periods.labels.length}`;
  const isOwn = isSameEvent(request)
    ? `(arrayCount(r -> ${periodOf('r')} = period, rs) > 1)`
    : `arrayExists(r -> ${periodOf('r')} = period AND ${timeOf('r')} >= t, rs)`;
  // a negative difference becomes a great one
  const later = `toUInt64(${periodOf('r')} - period)`;
  const bit = `if(${later} BETWEEN 1 AND ${request.periods - 1}, bitShiftLeft(toUInt64(1), bitAnd(${later}, 63)), toUInt64(0))`;
  const pattern = `bitOr(arrayReduce('groupBitOr', arrayMap(r -> ${bit}, rs)), toUInt64(${isOwn}))`;
  return `SELECT person, toInt64(period) - 1 AS cohort, ${pattern} AS pattern, CAST(NULL AS Nullable(String)) AS value FROM (${inRange})`;
}
