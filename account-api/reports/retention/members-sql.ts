import { beforeSql, sinceSql } from '../../../platform/clickhouse/event-time.ts';
import { KEPT_EVENTS } from '../../../platform/clickhouse/kept-events.ts';
import { filtersSql, type FilterSqlContext } from '../../../audiences/conditions/condition-sql.ts';
import type { EventSelector } from '../../../audiences/conditions/condition.ts';
import { peopleSql, type Merges } from '../../../audiences/people-sql.ts';
import { nestedSelects, TIE_BREAKERS, type SqlParams } from '../../../platform/clickhouse/sql.ts';
import { eventValueSql, hasEventValue } from '../breakdown-sql.ts';
import { mayShare } from '../overlap.ts';
import { EVENT_TIME, periodPositionSql } from '../period-position.ts';
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

const isStart = (key: string): string => `bitTest(${key}, 0)`;
const isReturn = (key: string): string => `bitTest(${key}, 1)`;
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

/**
 * Whether it matters which of several simultaneous start events is the first: for its value, and
 * where only some of them are returns themselves.
 */
export function needsTieBreakers(request: RetentionRequest): boolean {
  return (
    hasEventValue(request) || (mayShare(request.start, request.return) && !isSameEvent(request))
  );
}

/** Every start is a return too, and the other way round. */
export function isSameEvent(request: RetentionRequest): boolean {
  return JSON.stringify(request.start) === JSON.stringify(request.return);
}

interface EventRowsOptions {
  /** Conditions on an event beside those of the report. */
  conditions?: readonly string[];
  key?: (parts: KeyParts) => string;
  /** Without it both, with the columns `is_start` and `is_return`. */
  only?: 'starts' | 'returns' | undefined;
}

/** SELECT of starts and returns: `person`, `key`, and what ties need. */
export function eventRows(
  context: RetentionSqlContext,
  { conditions = [], key = arrayKey, only }: EventRowsOptions = {},
): string {
  const { request, accountId, merges, params, periods } = context;
  const { source, person } = peopleSql({ merges, accountId, params });
  const filterContext: FilterSqlContext = { params, accountId, person };
  const { labels, starts } = periods;
  // DateTime64 and the unsigned keys cannot represent times before 1970
  const bounds = starts.map((start) => Math.max(0, start));
  const [begin = 0, end = 0, cohortsEnd = 0] = [bounds[0], bounds.at(-1), bounds[labels.length]];
  const selector = (one: EventSelector): string =>
    `event = ${params.text(one.event)} AND ${filtersSql(one.filters, filterContext)}`;
  const since = `timestamp >= ${params.instant(begin)}`;
  // in first_time mode the first start event may be before the range of the report
  const isWithin = request.mode === 'recurring' ? ` AND ${since}` : '';
  const asStart = `${selector(request.start)} AND timestamp < ${params.instant(cohortsEnd)}${isWithin}`;
  const asReturn = `${selector(request.return)} AND ${since}`;
  const kinds = {
    starts: { columns: [], flags: '1', where: [beforeSql(cohortsEnd, params), asStart] },
    returns: { columns: [], flags: '2', where: [sinceSql(begin, params), asReturn] },
    both: {
      columns: [`${asStart} AS is_start`, `${asReturn} AS is_return`],
      flags: 'toUInt64(is_return) * 2 + toUInt64(is_start)',
      where: [
        `event IN ${params.bind('Array(String)', [...new Set([request.start.event, request.return.event])])}`,
        '(is_start OR is_return)',
      ],
    },
  };
  const kind = kinds[only ?? 'both'];
  const columns = [
    `${person} AS person`,
    ...kind.columns,
    `${key({
      time: EVENT_TIME,
      period: periodPositionSql(EVENT_TIME, bounds, params),
      flags: kind.flags,
    })} AS key`,
    ...(hasEventValue(request) ? [`${eventValueSql(request, params)} AS value`] : []),
    ...(needsTieBreakers(request) ? [TIE_BREAKERS] : []),
  ];
  const where = [
    `account_id = ${params.whole(accountId)}`,
    KEPT_EVENTS,
    beforeSql(end, params),
    ...(request.mode === 'recurring' ? [sinceSql(begin, params)] : []),
    ...(request.includeBots ? [] : ['NOT is_bot']),
    ...(request.filters.length > 0 ? [filtersSql(request.filters, filterContext)] : []),
    ...conditions,
    ...kind.where,
  ];
  return `SELECT ${columns.join(', ')} FROM ${source} WHERE ${where.join(' AND ')}`;
}

/**
 * SELECT of one row per person with the elements of their starts and returns: `es`, sorted; tuples
 * (key, tie breakers…, value?) where ties matter.
 */
function eventArraysByPerson(context: RetentionSqlContext): string {
  const { request } = context;
  const rows = eventRows(context);
  const placed = `arraySort(e -> (${timeOf('e.1')}, e.2, e.3, e.4, e.5), groupArray((key, ${TIE_BREAKERS}${hasEventValue(request) ? ', value' : ''})))`;
  return `SELECT person, ${needsTieBreakers(request) ? placed : 'arraySort(groupArray(key))'} AS es FROM (${rows}) GROUP BY person HAVING max(is_start)`;
}

/** What a key is made of, as SQL: a time in epoch milliseconds, a position, and the two flags. */
export interface KeyParts {
  time: string;
  period: string;
  flags: string;
}

function arrayKey({ time, period, flags }: KeyParts): string {
  return `bitOr(bitOr(bitShiftLeft(toUInt64(${time}), ${TIME_SHIFT}), bitShiftLeft(toUInt64(${period}), ${PERIOD_SHIFT})), ${flags})`;
}

const WORD = 64;

/**
 * SELECT of one row per member of a cohort: person, cohort, `pattern` with bit n set when they
 * returned in the n-th period, and the value of their first start event.
 *
 * Arrays are sorted by time. `bs` and `ns` hold the nearest return before and after each element: a
 * first start event has a return in its own period when the next return is in that period, or when
 * the previous one has the same time. The periods of a person's returns are a bit set of 64-bit
 * words; the pattern of a cohort is a slice of it.
 */
export function membersOf(context: RetentionSqlContext): string {
  const { request } = context;
  const { labels, starts } = context.periods;
  const returns = `arrayMap(k -> if(${isReturn('k')}, k, 0), ks)`;
  const isIn = `${periodOf('k')} BETWEEN 1 AND ${labels.length}`;
  const hasReturned = `(n != 0 AND ${periodOf('n')} = ${periodOf('k')}) OR (b != 0 AND ${timeOf('b')} = ${timeOf('k')})`;
  const [names, arrays] = hasEventValue(request)
    ? ['f, k, b, n, v', 'fs, ks, bs, ns, vs']
    : ['f, k, b, n', 'fs, ks, bs, ns'];
  const member = `(f AND ${isIn}, toUInt64(${periodOf('k')}), toUInt64(${hasReturned})${hasEventValue(request) ? ', v' : ''})`;
  const rows = nestedSelects(eventArraysByPerson(context), [
    [
      needsTieBreakers(request) ? 'es.1 AS ks' : 'es AS ks',
      ...(hasEventValue(request) ? ['es.6 AS vs'] : []),
    ],
    [
      `arrayPopBack(arrayPushFront(arrayFill(x -> x > 0, ${returns}), 0)) AS bs`,
      `arrayPopFront(arrayPushBack(arrayReverseFill(x -> x > 0, ${returns}), 0)) AS ns`,
      `${firsts(request)} AS fs`,
      `arrayCompact(arrayMap(k -> ${periodOf('k')}, arrayFilter(k -> ${isReturn('k')}, ks))) AS rs`,
    ],
    [
      `arrayFilter(m -> m.1, arrayMap((${names}) -> ${member}, ${arrays})) AS ms`,
      `${bitSet(starts.length)} AS ws`,
    ],
    ['arrayJoin(ms) AS m'],
  ]);
  const value = hasEventValue(request) ? 'm.4' : 'CAST(NULL AS Nullable(String))';
  return `SELECT person, toInt64(m.2) - 1 AS cohort, bitOr(${cut('m.2', request.periods)}, m.3) AS pattern, ${value} AS value FROM (${rows})`;
}

/** Marks the first start event of each period, or the very first one. */
function firsts({ mode }: RetentionRequest): string {
  const startPeriods = `arrayFill(x -> x > 0, arrayMap(k -> if(${isStart('k')}, ${periodOf('k')} + 1, 0), ks))`;
  const before = `arrayPopBack(arrayPushFront(${startPeriods}, 0))`;
  const isFirst = mode === 'first_time' ? 'p = 0' : `p != ${periodOf('k')} + 1`;
  return `arrayMap((k, p) -> ${isStart('k')} AND ${isFirst}, ks, ${before})`;
}

/**
 * The periods in `rs` as words of 64 bits, and one more word, so that a slice can begin in the
 * last.
 */
function bitSet(periods: number): string {
  const words = Array.from({ length: Math.floor(periods / WORD) + 2 }, (_, at) => {
    const bit = `bitShiftLeft(toUInt64(1), p % ${WORD})`;
    return `arraySum(p -> if(intDiv(p, ${WORD}) = ${at}, ${bit}, 0), rs)`;
  });
  return `[${words.join(', ')}]`;
}

/** The bits of the periods after `period` as bits 1, 2, … of a number; bit 0 stays 0. */
function cut(period: string, periods: number): string {
  const followed = (1n << BigInt(periods)) - 2n;
  const [word, bit] = [`intDiv(${period}, ${WORD})`, `(${period} % ${WORD})`];
  const low = `bitShiftRight(ws[${word} + 1], ${bit})`;
  const high = `if(${bit} = 0, 0, bitShiftLeft(ws[${word} + 2], ${WORD} - ${bit}))`;
  return `bitAnd(bitOr(${low}, ${high}), toUInt64(${followed}))`;
}
