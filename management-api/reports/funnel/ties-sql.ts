import { hasEventValue } from '../breakdown-sql.ts';
import { GAP_SHIFT, STEP_BITS, TIME_SHIFT, type FunnelSqlContext } from './event-arrays.ts';
import { stepsOverlapInPart, stepsSharedApart } from '../overlap.ts';

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
export function isTied(keys: string): string {
  const mask = (key: string): string => `bitAnd(${key}, ${STEP_BITS})`;
  const isTie = `bitShiftRight(k, ${TIME_SHIFT}) = bitShiftRight(n, ${TIME_SHIFT}) AND ${mask('k')} != 0 AND ${mask('n')} != 0`;
  const isSeveral = `(bitCount(${mask('k')}) > 1 OR bitCount(${mask('n')}) > 1)`;
  return `arrayExists((k, n) -> ${isTie} AND ${isSeveral}, ${keys}, arrayPopFront(arrayPushBack(${keys}, 0)))`;
}

/** Gives a value a name inside a lambda. */
function named(name: string, value: string, body: string): string {
  return `arrayMap(${name} -> ${body}, [${value}])[1]`;
}

/**
 * The paths of one person as a fold over the events in total order (`zt` times, `zm` steps, `zl`
 * whether the last of its time, `zp` positions 1…), exact whatever ties and overlaps. A state is
 * (steps covered, those of them at the current time, start, time of the last event before the
 * current time, position of each step's event). Events of one time may match the steps in any
 * order, so all sets of steps are followed there; when the time is over, only paths without a hole
 * stay. Of the states that cover the same steps the best is kept: a state whose start is later,
 * then whose second event is earlier, and so on, can be continued by whatever continues the other.
 *
 * `length` is the SQL of the length that is looked for. Without it the fold answers the greatest
 * length in `.2`; with it `.3` holds the positions of the counted path of that length, which among
 * paths of that length prefers the one that ends first.
 */
export function foldTies(context: FunnelSqlContext, length?: string): string {
  const { request, params } = context;
  const count = request.steps.length;
  const window = params.whole(request.windowMs);
  const isBroken = (until: string): string =>
    request.exclude.length === 0
      ? 'false'
      : `(s.2 = 0 AND s.1 != 0 AND arrayExists(x -> bitTest(x, ${GAP_SHIFT} - 1 + bitCount(s.1)) AND bitShiftRight(x, ${TIME_SHIFT}) > s.4 AND bitShiftRight(x, ${TIME_SHIFT}) ${until}, zx))`;
  const alive = `arrayFilter(s -> NOT ${isBroken('< t')}, acc.1)`;
  const canExtend = `bitTest(m, b) AND NOT bitTest(s.1, b) AND ${length === undefined ? '' : `b < ${length} AND `}(s.3 = 0 OR t <= s.3 + ${window})`;
  const bit = 'toUInt16(bitShiftLeft(1, b))';
  const positions = 'arrayMap((q, i) -> if(i = b + 1, toUInt32(p), q), s.5, arrayEnumerate(s.5))';
  const extended = `(bitOr(s.1, ${bit}), bitOr(s.2, ${bit}), if(b = 0, t, s.3), s.4, ${positions})`;
  const candidates = `arrayConcat(old, arrayFlatten(arrayMap(b -> arrayMap(s -> ${extended}, arrayFilter(s -> ${canExtend}, old)), range(toUInt8(${count})))))`;
  const preference = `(s.1, s.2 = 0, ${length === undefined ? '' : `s.5[${length}], `}${2 ** 32 - 1} - s.5[1], s.5)`;
  const best = (states: string): string =>
    `arrayCompact(s -> (s.1, s.2 = 0), arraySort(s -> ${preference}, ${states}))`;
  const isWhole = 'bitAnd(s.1, s.1 + 1) = 0';
  const closed = `arrayMap(s -> (s.1, toUInt16(0), s.3, if(s.2 = 0, s.4, t), s.5), arrayFilter(s -> ${isWhole} AND NOT ${isBroken('<= t')}, now))`;
  const reached = `arrayMax(arrayMap(s -> if(${isWhole}, toUInt8(bitCount(s.1)), 0), now))`;
  const isFound = `s.1 = bitShiftLeft(1, ${length ?? 0}) - 1`;
  const found = `if(length(acc.3) = 0, arrayFirst(s -> ${isFound}, now).5, acc.3)`;
  const over = [
    best(closed),
    `greatest(acc.2, ${reached})`,
    length === undefined ? 'acc.3' : found,
  ];
  const type =
    'Tuple(Array(Tuple(UInt16, UInt16, UInt64, UInt64, Array(UInt32))), UInt8, Array(UInt32))';
  const step = named(
    'old',
    alive,
    named(
      'now',
      best(candidates),
      `CAST(if(last, (${over.join(', ')}), (now, acc.2, acc.3)) AS ${type})`,
    ),
  );
  const none = `(0, 0, 0, 0, arrayResize(emptyArrayUInt32(), ${count}))`;
  return `arrayFold((acc, t, m, last, p) -> ${step}, zt, zm, zl, zp, CAST(([${none}], 0, []) AS ${type}))`;
}
