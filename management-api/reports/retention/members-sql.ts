import { nestedSelects } from '../../warehouse/nested-selects.ts';
import {
  eventArraysByPerson,
  hasEventValue,
  needsTieBreakers,
  isReturn,
  isStart,
  periodOf,
  timeOf,
  type RetentionSqlContext,
} from './event-arrays.ts';
import type { RetentionRequest } from './request.ts';

const WORD = 64;

/**
 * SELECT of one row a member of a cohort: person, cohort, `pattern` with bit n set when they
 * returned in the n-th period, and the value of their first start event.
 *
 * Arrays are sorted by time. `bs` and `ns` hold the nearest return before and after each element: a
 * first start event has a return in its own period when the next one lies in it, or when the last
 * one is of the same time. All periods of a person's returns make a bit set of 64-bit words, and a
 * cohort's pattern is cut out of it.
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
 * The periods in `rs` as words of 64 bits, and one more word, so that a cut may begin in the last.
 */
function bitSet(periods: number): string {
  const words = Array.from({ length: Math.floor(periods / WORD) + 2 }, (_, at) => {
    const bit = `bitShiftLeft(toUInt64(1), p % ${WORD})`;
    return `arraySum(p -> if(intDiv(p, ${WORD}) = ${at}, ${bit}, 0), rs)`;
  });
  return `[${words.join(', ')}]`;
}

/** The bits of the periods after `period` as bits 1, 2, … of a number; bit 0 is left free. */
function cut(period: string, periods: number): string {
  const followed = (1n << BigInt(periods)) - 2n;
  const [word, bit] = [`intDiv(${period}, ${WORD})`, `(${period} % ${WORD})`];
  const low = `bitShiftRight(ws[${word} + 1], ${bit})`;
  const high = `if(${bit} = 0, 0, bitShiftLeft(ws[${word} + 2], ${WORD} - ${bit}))`;
  return `bitAnd(bitOr(${low}, ${high}), toUInt64(${followed}))`;
}
