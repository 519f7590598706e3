import { nestedSelects, TIE_BREAKERS } from '../../../platform/clickhouse/sql.ts';
import { hasEventValue } from '../breakdown-sql.ts';
import {
  columnList,
  funnelRows,
  gapsOf,
  stepBit,
  timesAt,
  type FunnelSqlContext,
} from './event-arrays.ts';
import { stepsOverlap } from '../overlap.ts';

/**
 * The funnel in any order. Elements are (time, tie breakers…, steps, value?), sorted: the total
 * order, in which a path's events follow each other.
 *
 * Where no event matches two steps, the steps that can be covered by a path which ends at an
 * element are those that occur within the window before it. The first element with the greatest
 * number of them ends the counted path. The path starts as late as possible: with the earliest of
 * the latest events of each covered step; when all of those are after the range, with the latest
 * event inside it. The other steps match as early as possible after that.
 */
export function anyPeople(context: FunnelSqlContext): string {
  const { request } = context;
  const gaps = `if(depth < 2, [], ${gapsOf(timesAt('ts', 'qs'))})`;
  const value = hasEventValue(request) ? [`vs[qs[${request.breakdown?.step ?? 1}]] AS value`] : [];
  const read = ['person', 'depth', `${gaps} AS gaps`, ...value].join(', ');
  const lists = [
    ['es.1 AS ts', 'es.6 AS ms', ...(hasEventValue(request) ? ['es.7 AS vs'] : [])],
    ...(stepsOverlap(request.steps) ? folded(context) : covered(context)),
  ];
  const reads = { columns: ['person', 'es'], by: read };
  return `SELECT ${read} FROM (${nestedSelects(eventArrays(context), lists, reads)})`;
}

/** Without steps that share events: positions from the latest events of each step. */
function covered({ request, params }: FunnelSqlContext): string[][] {
  const window = params.whole(request.windowMs);
  const steps = request.steps.map((_, at) => at);
  const each = (write: (at: number) => string, separator = ', '): string =>
    steps.map(write).join(separator);
  const isNear = (time: string): string => `${time} > 0 AND t <= ${time} + ${window}`;
  const latest = steps.map(
    (at) =>
      `arrayFill(x -> x > 0, arrayMap((m, t) -> if(bitTest(m, ${stepBit(at)}), t, 0), ms, ts)) AS l${at}`,
  );
  const inside = steps.map(
    (at) =>
      `arrayFill(x -> x > 0, arrayMap((m, t) -> if(bitTest(m, ${stepBit(at)}) AND t < to, t, 0), ms, ts)) AS i${at}`,
  );
  const canStart = `(t < to OR ${each((at) => `(NOT bitTest(m, ${stepBit(at)}) AND ${isNear(`i${at}`)})`, ' OR ')})`;
  const counts = `arrayMap((m, t, ${each((at) => `l${at}`)}, ${each((at) => `i${at}`)}) -> if(${canStart}, toUInt8(${each((at) => `(${isNear(`l${at}`)})`, ' + ')}), 0), ms, ts, ${each((at) => `l${at}`)}, ${each((at) => `i${at}`)}) AS cs`;
  const last = (at: number, also = ''): string =>
    `arrayLastIndex((m, t, i) -> i <= pe AND bitTest(m, ${stepBit(at)}) AND te <= t + ${window}${also}, ms, ts, arrayEnumerate(ms))`;
  const position = (name: string): string => each((at) => `${name}${at}`);
  return [
    [`${endOfRange(request, params)} AS to`],
    [...latest, ...inside],
    [counts],
    ['toUInt8(arrayMax(cs)) AS depth'],
    ['if(depth = 0, 0, indexOf(cs, depth)) AS pe', 'ts[pe] AS te', 'ms[pe] AS me'],
    [
      ...steps.map((at) => `${last(at)} AS a${at}`),
      ...steps.map(
        (at) => `if(bitTest(me, ${stepBit(at)}), 0, ${last(at, ' AND t < to')}) AS b${at}`,
      ),
    ],
    [`arrayMin(arrayFilter(x -> x > 0, [pe, ${position('a')}])) AS natural`],
    [
      `toUInt64(multiIf(depth < 2, pe, ts[natural] < to, natural, greatest(${position('b')}))) AS q1`,
      'ms[q1] AS m1',
    ],
    steps.map(
      (at) =>
        `if(depth < 2 OR bitTest(bitOr(m1, me), ${stepBit(at)}), 0, arrayFirstIndex((m, i) -> i > q1 AND i < pe AND bitTest(m, ${stepBit(at)}), ms, arrayEnumerate(ms))) AS c${at}`,
    ),
    [
      `if(depth < 2, [pe], arraySort(arrayFilter(x -> x > 0, [toUInt64(q1), toUInt64(pe), ${each((at) => `toUInt64(c${at})`)}]))) AS qs`,
    ],
  ];
}

/**
 * With steps that share events: a fold over the events. A state is (steps covered, start,
 * positions); of those that cover the same steps the best is kept: the later start, then the
 * earlier second event, and so on, because whatever continues the other continues it too.
 */
function folded({ request, params }: FunnelSqlContext): string[][] {
  const count = request.steps.length;
  const fold = (length?: string): string => {
    const bit = 'toUInt8(bitShiftLeft(1, b))';
    const canExtend = `bitTest(m, b) AND NOT bitTest(s.1, b) AND if(s.1 = 0, t < to, t <= s.2 + ${params.whole(request.windowMs)})`;
    const extended = `(bitOr(s.1, ${bit}), if(s.1 = 0, t, s.2), arrayPushBack(s.3, toUInt32(p)))`;
    const candidates = `arrayConcat(acc.1, arrayFlatten(arrayMap(b -> arrayMap(s -> ${extended}, arrayFilter(s -> ${canExtend}, acc.1)), range(toUInt8(${count})))))`;
    const preference = `${2 ** 32 - 1} - s.3[1], s.3`;
    const states = `arrayCompact(s -> s.1, arraySort(s -> (s.1, ${preference}), ${candidates}))`;
    const reached = 'greatest(acc.2, arrayMax(arrayMap(s -> toUInt8(bitCount(s.1)), now)))';
    const found = `if(length(acc.3) > 0, acc.3, arraySort(s -> (bitCount(s.1) != ${length ?? '0'}, ${preference}), now)[1].3)`;
    const isFound = `arrayExists(s -> bitCount(s.1) = ${length ?? '0'}, now)`;
    const type = 'Tuple(Array(Tuple(UInt8, UInt64, Array(UInt32))), UInt8, Array(UInt32))';
    const next =
      length === undefined
        ? `(now, ${reached}, acc.3)`
        : `(now, acc.2, if(${isFound}, ${found}, acc.3))`;
    return `arrayFold((acc, t, m, p) -> arrayMap(now -> CAST(${next} AS ${type}), [${states}])[1], ts, ms, arrayEnumerate(ts), CAST(([(0, 0, [])], 0, []) AS ${type}))`;
  };
  return [
    [`${endOfRange(request, params)} AS to`],
    [`${fold()}.2 AS depth`],
    [`${fold('depth')}.3 AS qs`],
  ];
}

function endOfRange(
  { range }: FunnelSqlContext['request'],
  params: FunnelSqlContext['params'],
): string {
  return `toUInt64(${params.whole(Math.max(0, range.to) - Math.max(0, range.from) + 1)})`;
}

/**
 * All events of a path but the first can be after the range, so the bits of the mask do not check
 * the range.
 */
function eventArrays(context: FunnelSqlContext): string {
  const { request, params } = context;
  const rows = funnelRows(context);
  const names = [...new Set(request.steps.map(({ event }) => event))];
  const where = [...rows.where, `event IN ${params.bind('Array(String)', names)}`, 'mask != 0'];
  const inner = `SELECT ${columnList(rows)}, ${TIE_BREAKERS} FROM ${rows.source} WHERE ${where.join(' AND ')}`;
  return `SELECT person, arraySort(groupArray((t, ${TIE_BREAKERS}, mask${hasEventValue(request) ? ', value' : ''}))) AS es FROM (${inner}) GROUP BY person`;
}
