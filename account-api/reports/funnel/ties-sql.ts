import { hasEventValue } from '../breakdown-sql.ts';
import {
  after,
  before,
  carried,
  GAP_SHIFT,
  gapColumn,
  STEP_BITS,
  TIME_SHIFT,
  type FunnelSqlContext,
} from './event-arrays.ts';
import { implies, stepsOverlapInPart, stepsSharedApart } from '../overlap.ts';

/**
 * Whether it can matter which of several simultaneous events is matched to which step, beyond what
 * the order of the keys decides. It does where conditions overlap in part, where equal ones have
 * another between them, and where the value of one of the events is requested.
 */
export function needsTies({ request }: FunnelSqlContext): boolean {
  if (stepsOverlapInPart(request.steps)) return true;
  const shared = stepsSharedApart(request.steps);
  return shared === 'apart' || (shared === 'together' && hasEventValue(request));
}

/** True when one of a person's simultaneous events matches several steps (`ks`: sorted keys). */
function isTied(keys: string): string {
  const mask = (key: string): string => `bitAnd(${key}, ${STEP_BITS})`;
  const isTie = `bitShiftRight(k, ${TIME_SHIFT}) = bitShiftRight(n, ${TIME_SHIFT}) AND ${mask('k')} != 0 AND ${mask('n')} != 0`;
  const isSeveral = `(bitCount(${mask('k')}) > 1 OR bitCount(${mask('n')}) > 1)`;
  return `arrayExists((k, n) -> ${isTie} AND ${isSeveral}, ${keys}, arrayPopFront(arrayPushBack(${keys}, 0)))`;
}

/**
 * The events of people with ambiguous simultaneous events, in total order: `zt` (times), `zm`
 * (steps), `zv` (values). For all others the arrays are empty and cost nothing. `zg`: for each
 * event, by gap, the time of the last event before it that breaks the gap. `zu`: the steps that the
 * events after it at the same time match.
 *
 * Of the events of one time and mask, the first ones (one for each step) and the last are kept. Any
 * two of them can replace each other in a path, so the counted path uses no other: one that it used
 * for the first step could be replaced by the last, which starts later, and any other one by one of
 * the first that it does not use.
 */
function tiedEvents(context: FunnelSqlContext): string[][] {
  const { request } = context;
  const count = request.steps.length;
  const gaps = request.steps.slice(1).map((_, at) => gapColumn(context, at) ?? '0');
  const timeOf = (gap: string): string =>
    gap === '0' ? gap : `bitShiftRight(${gap}, ${TIME_SHIFT})`;
  const used = [...new Set(gaps)].filter((gap) => gap !== '0').join(', ');
  const hasValue = hasEventValue(request);
  const element = `e.1, e.2, e.3, e.4, e.5${hasValue ? ', e.6' : ''}`;
  const events =
    used === ''
      ? 'es'
      : `arrayMap((e, ${used}) -> (${element}, [${gaps.map(timeOf).join(', ')}]), es, ${used})`;
  const time = `bitShiftRight(e.1, ${TIME_SHIFT})`;
  const mask = `bitAnd(e.1, ${STEP_BITS})`;
  const place = 'e.2, e.3, e.4, e.5';
  const lastOf = `arrayMap(b -> arrayLastIndex(m -> bitTest(m, b), g), ${stepRange(count)})`;
  const remaining = `toUInt16(arraySum(b -> if(final[b + 1] > i, bitShiftLeft(toUInt16(1), b), 0), ${stepRange(count)}))`;
  return [
    [`${isTied('ks')} AS is_tied`],
    [
      `if(is_tied, arraySort(e -> (${time}, ${mask}, ${place}), arrayFilter(e -> ${mask} != 0, ${events})), []) AS zc`,
    ],
    [`arrayMap(e -> bitOr(bitShiftLeft(${time}, ${GAP_SHIFT}), ${mask}), zc) AS zr`],
    [
      `${carried(`arrayMap((r, b, i) -> if(r != b, i, 0), zr, ${before('zr')}, arrayEnumerate(zr))`)} AS zi`,
    ],
    [
      `arraySort(e -> (${time}, ${place}), arrayFilter((e, r, n, i, first) -> r != n OR i < first + ${count}, zc, zr, ${after('zr')}, arrayEnumerate(zr), zi)) AS zs`,
    ],
    [
      `arrayMap(e -> ${time}, zs) AS zt`,
      `arrayMap(e -> toUInt16(${mask}), zs) AS zm`,
      'arrayEnumerate(zs) AS zp',
      ...(hasValue ? ['zs.6 AS zv'] : []),
      ...(used === '' ? [] : [`zs.${hasValue ? 7 : 6} AS zg`]),
    ],
    [
      `arrayMap((t, b) -> t != b, zt, ${before('zt')}) AS zf`,
      `arrayMap((t, n) -> t != n, zt, ${after('zt')}) AS zl`,
    ],
    [
      `arrayFlatten(arrayMap(g -> ${named('final', lastOf, `arrayMap(i -> ${remaining}, arrayEnumerate(g))`)}, arraySplit((m, f) -> f, zm, zf))) AS zu`,
    ],
  ];
}

/**
 * Columns for people with ambiguous simultaneous events: `tied_depth`, and the counted path as
 * positions `tied` in `zt` (times) and `zv` (values of the breakdown).
 */
export function tiedColumns(context: FunnelSqlContext): string[][] {
  return [
    ...tiedEvents(context),
    [`${foldTies(context)} AS folded`],
    ['folded.1 AS tied_depth', 'folded.2 AS tied'],
  ];
}

/** Column `states`: the most states that the folds of a person keep at a time. For tests. */
export function tiedStates(context: FunnelSqlContext): string[][] {
  return [
    ...tiedEvents(context),
    [`${foldTies(context)} AS folded`],
    ['folded.1 AS tied_depth', 'folded.3 AS states'],
  ];
}

/** Gives a value a name inside a lambda. */
function named(name: string, value: string, body: string): string {
  return `arrayMap(${name} -> ${body}, [${value}])[1]`;
}

const stepRange = (count: number): string => `range(toUInt8(${count}))`;

/** By step, the bits of the steps that `b` may not overtake: their events always match `b` too. */
function blockersOf({ request: { steps } }: FunnelSqlContext): number[] {
  return steps.map((step, b) =>
    steps.reduce(
      (bits, other, c) => (c > 0 && c < b && implies(other, step) ? bits | (1 << c) : bits),
      0,
    ),
  );
}

/**
 * The paths of one person as a fold over the events in total order, exact whatever ties and
 * overlaps. A state is (steps covered, those of them at the current time, start, time of the last
 * event before the current time, position of each step's event). Before a time begins, the steps
 * covered are the first ones: `kept` has the best path of each length. Within the time steps may be
 * matched in any order; `active` has the states that the events so far lead to. When the time is
 * over, what is covered without a hole is a path of its own. Of states that cover the same steps
 * the best is kept: the one whose start is later, then whose second event is earlier, and so on: it
 * can be continued by whatever continues the other, and is better up to every length.
 *
 * Following every set of steps would be exponential. Four rules leave out what cannot become a
 * counted path. Call the first step and the step of `length` special: the first prefers the latest
 * event, the last the earliest, before all other wishes. They are free to match or not.
 * 1. An event that matches an uncovered ordinary step is used. If a counted path did not use it,
 *    then all its steps are covered by earlier events, or are behind the path's end, where it does
 *    no harm; otherwise the event of such a step could be replaced by this earlier one.
 * 2. It does not match step b when it matches an uncovered ordinary step c < b, and all events of c
 *    match b too: the later event that covers c could be exchanged with this one, and c is then
 *    covered earlier.
 * 3. An event that can only take the first step takes it, from an earlier event too.
 * 4. Behind a step that is uncovered, and that no remaining event of the time matches, nothing is
 *    part of a path: those steps are uncovered again, and states that differ in them only are one.
 *
 * With exclusions an event is not as good as one of an earlier time, because the gap behind the
 * earlier one may be broken. So when a time is over, each path also continues from each of its
 * steps of that time: what was matched behind it is free for later events again. The rules exchange
 * only events of one time, which leaves every gap as it is.
 *
 * With equal or nested conditions one choice remains for each event, so that the states are at most
 * a few for each length; conditions that overlap otherwise branch where they have to.
 *
 * The fold runs twice, written once: what the statement contains twice is analysed twice. The first
 * round looks for no length, 0, and finds the greatest one. The second looks for that length: its
 * counted path is the one that ends first. The answer is (length, positions, most states).
 */
function foldTies(context: FunnelSqlContext): string {
  const type = 'Tuple(UInt8, Array(UInt32), UInt32)';
  const next = '(if(round = 1, f.3, r.1), f.4, greatest(r.3, f.5))';
  const body = named('f', foldOnce(context, 'r.1'), `CAST(${next} AS ${type})`);
  return `arrayFold((r, round) -> ${body}, if(is_tied, [1, 2], []), CAST((0, [], 0) AS ${type}))`;
}

/**
 * The fold over the events. `length`: SQL of the length that is looked for, 0 for none. The result
 * has the greatest length in `.3`, the positions of the counted path of `length` in `.4`, and the
 * most states in `.5`.
 */
function foldOnce(context: FunnelSqlContext, length: string): string {
  const { request, params } = context;
  const count = request.steps.length;
  const window = params.whole(request.windowMs);
  const hasGaps = request.exclude.length > 0;
  const isOpen = `(s.3 = 0 OR t <= s.3 + ${window})`;
  const bit = 'bitShiftLeft(toUInt16(1), b)';
  const takesFirst = '(NOT bitTest(s.1, 0) OR bitTest(s.2, 0))';
  const isLast = `b + 1 = ${length}`;
  const isUnblocked = `bitAnd(bitAnd(m, [${blockersOf(context).join(', ')}][b + 1]), bitNot(s.1)) = 0`;
  const takes = `if(b = 0, ${takesFirst}, NOT bitTest(s.1, b) AND (${isLast} OR ${isUnblocked}))`;
  const special = `bitOr(1, intDiv(bitShiftLeft(toUInt16(1), ${length}), 2))`;
  const hasOrdinary = `bitAnd(bitAnd(m, bitNot(s.1)), bitNot(toUInt16(${special}))) != 0`;
  const isOnly = `${length} = 1`;
  const stays = `(NOT ${isOpen} OR ${isOnly} OR NOT (${hasOrdinary} OR (bitTest(m, 0) AND ${takesFirst})))`;
  const positions = 'arrayMap((q, i) -> if(i = b + 1, toUInt32(p), q), s.5, arrayEnumerate(s.5))';
  const extended = `(bitOr(s.1, ${bit}), bitOr(s.2, ${bit}), if(b = 0, t, s.3), s.4, ${positions})`;
  const all = `arrayConcat(arrayFilter(s -> ${stays}, sources), arrayFlatten(arrayMap(b -> arrayMap(s -> ${extended}, arrayFilter(s -> bitTest(m, b) AND ${isOpen} AND ${takes}, sources)), ${stepRange(count)})))`;
  // the bits below the lowest one that is neither covered nor can be
  const whole = 'toUInt16(bitAnd(bitNot(bitOr(s.1, u)), bitOr(s.1, u) + 1) - 1)';
  const cut = `arrayMap((s, w) -> (bitAnd(s.1, w), bitAnd(s.2, w), s.3, s.4, arrayMap((q, i) -> if(bitTest(w, i - 1), q, 0), s.5, arrayEnumerate(s.5))), next, arrayMap(s -> ${whole}, next))`;
  const preference = `(s.1, s.2 = 0, s.5[${length}], ${2 ** 32 - 1} - s.5[1], s.5)`;
  const best = (states: string): string =>
    `arrayCompact(s -> (s.1, s.2 = 0), arraySort(s -> ${preference}, ${states}))`;
  const alive = hasGaps ? 'arrayFilter(s -> s.1 = 0 OR g[bitCount(s.1)] <= s.4, acc.1)' : 'acc.1';
  const ends = `arrayMap(s -> (s.1, toUInt16(0), s.3, t, s.5), arrayFilter(s -> s.2 != 0, now))`;
  const shorter = `(bitAnd(s.1, ${bit} * 2 - 1), toUInt16(0), s.3, t, arrayMap((q, i) -> if(i <= b + 1, q, 0), s.5, arrayEnumerate(s.5)))`;
  const allEnds = `arrayFlatten(arrayMap(b -> arrayMap(s -> ${shorter}, arrayFilter(s -> bitTest(s.2, b), now)), ${stepRange(count)}))`;
  const closed = `arrayConcat(kept, ${hasGaps ? allEnds : ends})`;
  const reached = 'arrayMax(arrayMap(s -> toUInt8(bitCount(s.1)), now))';
  const isFound = `s.1 = bitShiftLeft(toUInt16(1), ${length}) - 1`;
  const found = `if(length(acc.4) = 0, arrayFirst(s -> ${isFound}, now).5, acc.4)`;
  const states = 'toUInt32(greatest(acc.5, length(now)))';
  const result = `if(last, (${closed}, [], greatest(acc.3, ${reached}), ${found}, ${states}), (kept, now, acc.3, acc.4, ${states}))`;
  const state = 'Array(Tuple(UInt16, UInt16, UInt64, UInt64, Array(UInt32)))';
  const type = `Tuple(${state}, ${state}, UInt8, Array(UInt32), UInt32)`;
  const step = [
    ['kept', `if(first, ${best(alive)}, acc.1)`],
    ['sources', 'if(first, kept, acc.2)'],
    ['next', `CAST(${all} AS ${state})`],
    ['now', best(`CAST(${cut} AS ${state})`)],
  ].reduceRight(
    (body, [name = '', value = '']) => named(name, value, body),
    `CAST(${result} AS ${type})`,
  );
  const limited = (masks: string): string =>
    `arrayMap(m -> bitAnd(m, toUInt16(bitShiftLeft(toUInt16(1), if(${length} = 0, ${count}, ${length})) - 1)), ${masks})`;
  const none = `(0, 0, 0, 0, arrayResize(emptyArrayUInt32(), ${count}))`;
  const [names, arrays] = hasGaps ? [', g', ', zg'] : ['', ''];
  return `arrayFold((acc, t, m, u, first, last, p${names}) -> ${step}, zt, ${limited('zm')}, ${limited('zu')}, zf, zl, zp${arrays}, CAST(([${none}], [], 0, [], 0) AS ${type}))`;
}
