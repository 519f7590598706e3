import {
  eventTargetSql,
  filtersSql,
  type FilterSqlContext,
} from '../../conditions/condition-sql.ts';
import type { EventSelector } from '../../conditions/condition.ts';
import { mayShare } from '../overlap.ts';
import { peopleSql, type Merges } from '../../warehouse/people-sql.ts';
import type { SqlParams } from '../../warehouse/sql-params.ts';
import type { Periods } from './periods.ts';
import type { RetentionRequest } from './request.ts';

/**
 * An element of a person's array is one UInt64: time in ms (50 bits) | position of its period + 1,
 * 0 before all of them (12) | is a return (1) | is a start (1). 730 days and 60 more periods fit
 * into the twelve bits.
 */
const TIME_SHIFT = 14;
const PERIOD_SHIFT = 2;
const PERIOD_BITS = 4095;
const TIE_BREAKERS = 'received_at, _partition, _offset, _index';

export const isStart = (key: string): string => `bitTest(${key}, 0)`;
export const isReturn = (key: string): string => `bitTest(${key}, 1)`;
export const periodOf = (key: string): string =>
  `bitAnd(bitShiftRight(${key}, ${PERIOD_SHIFT}), ${PERIOD_BITS})`;
export const timeOf = (key: string): string => `bitShiftRight(${key}, ${TIME_SHIFT})`;

export interface RetentionSqlContext {
  request: RetentionRequest;
  accountId: number;
  merges: Merges;
  params: SqlParams;
  periods: Periods;
}

/** True when elements carry the breakdown's value. */
export function hasEventValue({ breakdown }: RetentionRequest): boolean {
  return breakdown !== undefined && breakdown.target.kind !== 'trait';
}

/**
 * Whether it matters which of several simultaneous start events is the first: for its value, and
 * where only some of them are returns themselves.
 */
export function needsTieBreakers(request: RetentionRequest): boolean {
  const isSame = JSON.stringify(request.start) === JSON.stringify(request.return);
  return hasEventValue(request) || (mayShare(request.start, request.return) && !isSame);
}

/**
 * SELECT of one row a person with the elements of their starts and returns: `es`, sorted; tuples
 * (key, place…, value?) where ties matter.
 */
export function eventArraysByPerson(context: RetentionSqlContext): string {
  const { request, accountId, merges, params, periods } = context;
  const { source, person } = peopleSql({ merges, accountId, params });
  const filterContext: FilterSqlContext = { params, accountId, person };
  const { labels, starts } = periods;
  // DateTime64 and the unsigned keys know nothing before 1970
  const bounds = starts.map((start) => Math.max(0, start));
  const [begin = 0, end = 0, cohortsEnd = 0] = [bounds[0], bounds.at(-1), bounds[labels.length]];
  const selector = (one: EventSelector): string =>
    `event = ${params.text(one.event)} AND ${filtersSql(one.filters, filterContext)}`;
  const since = `timestamp >= ${params.instant(begin)}`;
  // the very first start event may lie before the report's range
  const isWithin = request.mode === 'recurring' ? ` AND ${since}` : '';
  const columns = [
    `${person} AS person`,
    `${selector(request.start)} AND timestamp < ${params.instant(cohortsEnd)}${isWithin} AS is_start`,
    `${selector(request.return)} AND ${since} AS is_return`,
    `${keySql({ bounds, begin, params })} AS key`,
    ...(hasEventValue(request) ? [`${valueSql(request, params)} AS value`] : []),
    ...(needsTieBreakers(request) ? [TIE_BREAKERS] : []),
  ];
  const where = [
    `account_id = ${params.whole(accountId)}`,
    `event IN ${params.bind('Array(String)', [...new Set([request.start.event, request.return.event])])}`,
    `timestamp < ${params.instant(end)}`,
    ...(request.mode === 'recurring' ? [since] : []),
    ...(request.includeBots ? [] : ['NOT is_bot']),
    ...(request.filters.length > 0 ? [filtersSql(request.filters, filterContext)] : []),
    '(is_start OR is_return)',
  ];
  const rows = `SELECT ${columns.join(', ')} FROM ${source} WHERE ${where.join(' AND ')}`;
  const placed = `arraySort(e -> (${timeOf('e.1')}, e.2, e.3, e.4, e.5), groupArray((key, ${TIE_BREAKERS}${hasEventValue(request) ? ', value' : ''})))`;
  return `SELECT person, ${needsTieBreakers(request) ? placed : 'arraySort(groupArray(key))'} AS es FROM (${rows}) GROUP BY person HAVING max(is_start)`;
}

function keySql({
  bounds,
  begin,
  params,
}: {
  bounds: readonly number[];
  begin: number;
  params: SqlParams;
}): string {
  const time = 'toUnixTimestamp64Milli(timestamp)';
  // where the calendar leaves a day out, two periods begin at one instant, and the later one has
  // the events
  const distinct = [...new Set(bounds)];
  const positions = distinct.map((start) => bounds.lastIndexOf(start) + 1);
  const starts = params.bind('Array(Int64)', distinct);
  const period = `if(${time} < ${params.whole(begin)}, 0, transform(roundDown(${time}, ${starts}), ${starts}, ${params.bind('Array(UInt64)', positions)}, 0))`;
  const flags = 'toUInt64(is_return) * 2 + toUInt64(is_start)';
  return `bitOr(bitOr(bitShiftLeft(toUInt64(${time}), ${TIME_SHIFT}), bitShiftLeft(toUInt64(${period}), ${PERIOD_SHIFT})), ${flags})`;
}

function valueSql({ breakdown }: RetentionRequest, params: SqlParams): string {
  const target = breakdown?.target;
  const text = target && target.kind !== 'trait' ? eventTargetSql(target, params).text : undefined;
  return text
    ? `if(${text.has}, CAST(${text.value} AS Nullable(String)), NULL)`
    : 'CAST(NULL AS Nullable(String))';
}
