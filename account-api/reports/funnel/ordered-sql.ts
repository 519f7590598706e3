import { columnsOf, nestedSelects } from '../../../platform/clickhouse/sql.ts';
import { stepsSharedApart } from '../overlap.ts';
import { hasEventValue } from '../breakdown-sql.ts';
import {
  after,
  before,
  carried,
  eventArraysByPerson,
  gapBit,
  gapColumn,
  gapsOf,
  isShared,
  startOfTime,
  stepBit,
  TIME_BITS_BELOW,
  TIME_SHIFT,
  type FunnelSqlContext,
} from './event-arrays.ts';
import { needsTies, tiedColumns } from './ties-sql.ts';

/**
 * The ordered funnel as passes over sorted arrays, each of them one vectorised function over all
 * people of a block. Times are those of keys: with zeros in the bits below.
 *
 * Forward: `s<i>` holds, at each element, the latest time at which a path can have started whose
 * i-th event is this element or the last one before it that can be one; 0 where there is none. The
 * latest start is the best one for every continuation, so depth i is reached where an element of
 * `s<i>` is within the window of its start, and the first such element ends the counted path. `ls`
 * collects the starts of these ends, by step. With exclusions it is their positions that are
 * collected, `ps`; `x<i>` holds the time of the last event that breaks the gaps with the same
 * exclusions as gap i, and `g<i>` the element that `s<i>` comes from: a gap is whole when g ≥ x.
 * Backward (exclusions only): bit i - 1 of `f` marks the elements that can be the i-th on a way to
 * that end. Then the path is walked from its start, always to the earliest next.
 *
 * Planning a query costs ClickHouse about as much for each column that a level passes on as for a
 * function, and five times as much for a lambda: the results of all steps are one array instead of
 * a column for each step, and a step is one level of two lambdas.
 */
export function orderedPeople(context: FunnelSqlContext): string {
  const { request } = context;
  const hasTieBreakers = hasEventValue(request) || needsTies(context);
  const people = eventArraysByPerson(context, { hasTieBreakers });
  const started = start(context, hasTieBreakers);
  const walked = [
    ...forward(context),
    ...path(context),
    ...(needsTies(context) ? tiedColumns(context) : []),
  ];
  const answer = countedPath(context).join(', ');
  const columns = ['person', 'es'];
  const read = `person, s1, ${walked.flat().join(', ')}, ${answer}`;
  const known = [...columns, ...columnsOf(started)];
  const source = `SELECT * FROM (${nestedSelects(people, started, { columns, by: read })}) WHERE s1[-1] > 0`;
  return `SELECT ${answer} FROM (${nestedSelects(source, walked, { columns: known, by: answer })})`;
}

/** Up to the paths of one event; whoever has none is left out. */
function start(context: FunnelSqlContext, hasTieBreakers: boolean): string[][] {
  const { request } = context;
  const columns = new Set(request.steps.slice(1).flatMap((_, at) => gapColumn(context, at) ?? []));
  const timesOf = (bit: number): string =>
    carried(`arrayMap(k -> if(bitTest(k, ${bit}), ${startOfTime('k')}, 0), ks)`);
  return [
    [hasTieBreakers ? 'es.1 AS ks' : 'es AS ks', ...(hasEventValue(request) ? ['es.6 AS vs'] : [])],
    [
      `${timesOf(stepBit(0))} AS s1`,
      ...[...columns].map((name) => `${timesOf(gapBit(Number(name.slice(1)) - 1))} AS ${name}`),
    ],
  ];
}

/** A step is one level: what it reaches, and the way on to the next. */
function forward(context: FunnelSqlContext): string[][] {
  return context.request.steps.flatMap((_, at) => [
    ...(isTogether(context) ? [[endOf(context, at + 1)]] : []),
    [...reached(context, at + 1), ...advance(context, at + 1)],
    ...(isPrunedAfter(context, at + 1) ? [prune(at + 1)] : []),
  ]);
}

/**
 * Whether equal steps follow each other and simultaneous events need no fold. Equal events at the
 * end's time are interchangeable: all but the last of them may serve earlier steps, so that the
 * path starts later.
 */
function isTogether(context: FunnelSqlContext): boolean {
  return stepsSharedApart(context.request.steps) === 'together' && !needsTies(context);
}

function hasExclusions({ request }: FunnelSqlContext): boolean {
  return request.exclude.length > 0;
}

/** Whether an element of `s<step>` ends a path of so many steps, as a lambda, and its arrays. */
function isEnd(context: FunnelSqlContext, step: number): { of: string; arrays: string } {
  const { params, request } = context;
  // the last key that is so late
  const window = (BigInt(request.windowMs) << BigInt(TIME_SHIFT)) + BigInt(TIME_BITS_BELOW);
  const { ks, s } = arraysAt(context, step);
  return {
    of: `(s, k) -> s > 0 AND k <= s + ${params.bind('UInt64', String(window))}`,
    arrays: `${s}, ${ks}`,
  };
}

/** `te`: the last key of the time at which a path of so many steps ends; small without one. */
function endOf(context: FunnelSqlContext, step: number): string {
  const { of, arrays } = isEnd(context, step);
  return `bitOr(ks[arrayFirstIndex(${of}, ${arrays})], ${TIME_BITS_BELOW}) AS te${step}`;
}

/** What a path of so many steps adds to `ls`, or to `ps`. */
function reached(context: FunnelSqlContext, step: number): string[] {
  const { of, arrays } = isEnd(context, step);
  const push = (name: string, value: string): string =>
    `${step === 1 ? `[${value}]` : `arrayPushBack(${name}${step - 1}, ${value})`} AS ${name}${step}`;
  if (hasExclusions(context)) return [push('ps', `arrayFirstIndex(${of}, ${arrays})`)];
  if (isTogether(context)) return [push('ls', `arrayLast((s, k) -> k <= te${step}, ${arrays})`)];
  return [push('ls', `arrayFirst(${of}, ${arrays})`)];
}

/** From paths that end with `step` (1-based) to those that end with the next. */
function advance(context: FunnelSqlContext, step: number): string[] {
  const { steps } = context.request;
  if (step === steps.length) return [];
  const { ks, s } = arraysAt(context, step);
  const isNext = `bitTest(k, ${stepBit(step)})`;
  const gap = gapColumn(context, step - 1);
  const origins = before(step === 1 ? s : `g${step}`);
  const next =
    gap === undefined
      ? `arrayFill((s, k) -> ${isNext}, ${before(s)}, ${ks})`
      : `arrayFill((s, k, g, x) -> ${isNext} AND g >= x, ${before(s)}, ks, ${origins}, ${gap})`;
  const origin =
    gap === undefined
      ? `arrayFill(k -> ${isNext}, ks)`
      : `arrayFill((k, g, x) -> ${isNext} AND g >= x, ks, ${origins}, ${gap})`;
  const isOriginRead = step + 1 < steps.length && gapColumn(context, step) !== undefined;
  return [`${next} AS s${step + 1}`, ...(isOriginRead ? [`${origin} AS g${step + 1}`] : [])];
}

/** The arrays are pruned after every third pass. */
const PRUNE_EVERY = 3;

/** Empties the arrays of those who have no path of so many steps: they have no longer one. */
function prune(step: number): string[] {
  const ks = step === PRUNE_EVERY ? 'ks' : `ks${step - PRUNE_EVERY}`;
  return [
    `if(ls${step}[-1] > 0, ${ks}, []) AS ks${step}`,
    `if(ls${step}[-1] > 0, s${step + 1}, []) AS m${step + 1}`,
  ];
}

/** The names of the starts after `step` passes, and of the keys that belong to them; 1-based. */
function arraysAt(context: FunnelSqlContext, step: number): { ks: string; s: string } {
  const pruned = Math.floor((step - 1) / PRUNE_EVERY) * PRUNE_EVERY;
  if (pruned === 0 || !isPrunedAfter(context, pruned)) return { ks: 'ks', s: `s${step}` };
  return { ks: `ks${pruned}`, s: step === pruned + 1 ? `m${step}` : `s${step}` };
}

/** Whether the arrays are emptied behind the pass of `step`. */
function isPrunedAfter(context: FunnelSqlContext, step: number): boolean {
  // the backward pass over exclusions needs arrays of equal length
  const { length } = context.request.steps;
  return !hasExclusions(context) && step % PRUNE_EVERY === 0 && step < length;
}

/** One row per person: depth, gaps, and the value, of the counted path. */
function countedPath(context: FunnelSqlContext): string[] {
  const { request } = context;
  const at = request.breakdown?.step ?? 1;
  const isExact = needsTies(context);
  const walked = `arrayMap(q -> bitShiftRight(ks[q], ${TIME_SHIFT}), qs)`;
  const times = isExact
    ? `if(is_tied, arrayMap(q -> zt[q], arraySlice(tied, 1, tied_depth)), ${walked})`
    : walked;
  const value = isExact ? `if(is_tied, zv[tied[${at}]], vs[qs[${at}]])` : `vs[qs[${at}]]`;
  return [
    'person',
    `${isExact ? 'if(is_tied, tied_depth, depth)' : 'depth'} AS depth`,
    `${gapsOf(times)} AS gaps`,
    ...(hasEventValue(request) ? [`${value} AS value`] : []),
  ];
}

/** `depth`, and `qs`: positions of the path's events. */
function path(context: FunnelSqlContext): string[][] {
  const { request } = context;
  const last = `${hasExclusions(context) ? 'ps' : 'ls'}${request.steps.length}`;
  const depth = `toUInt8(indexOf(arrayPushBack(${last}, 0), 0) - 1) AS depth`;
  if (!hasExclusions(context)) {
    const isFirst = `bitTest(k, ${stepBit(0)})`;
    // with a breakdown by an event's value, the path starts at the last of the simultaneous events;
    // otherwise at the first, so that the others can match later steps
    const first = hasEventValue(request)
      ? `if(depth = 1, arrayFirstIndex(k -> ${isFirst}, ks), arrayLastIndex(k -> ${isFirst} AND k <= a, ks))`
      : `arrayFirstIndex(k -> ${isFirst} AND k >= a, ks)`;
    const start = `${last}[depth]`;
    const a = hasEventValue(request) ? `${start} + ${TIME_BITS_BELOW}` : start;
    return [[depth], [`${a} AS a`], [walk({ first, marks: 'ks' })]];
  }
  // of equal simultaneous events the last one is the end, see isTogether()
  const end = isTogether(context)
    ? [
        [`bitOr(ks[${last}[depth]], ${TIME_BITS_BELOW}) AS te`],
        [
          `if(depth = 1, ${last}[1], arrayLastIndex(k -> k <= te AND bitTest(k, depth - 1), ks)) AS pe`,
        ],
      ]
    : [[`${last}[depth] AS pe`]];
  const isMarked = `bitTest(f, ${stepBit(0)})`;
  const latest = `arrayLastIndex(f -> ${isMarked}, f1)`;
  const marked = [[depth], ...end, ...backward(context)];
  if (hasEventValue(request)) return [...marked, [walk({ first: latest, marks: 'f1' })]];
  const first = `arrayFirstIndex((f, k) -> ${isMarked} AND k >= a, f1, ks)`;
  return [...marked, [`${startOfTime(`ks[${latest}]`)} AS a`], [walk({ first, marks: 'f1' })]];
}

function walk({ first, marks }: { first: string; marks: string }): string {
  const next = `arrayFirstIndex(m -> bitTest(m, step), arraySlice(${marks}, qs[-1] + 1))`;
  return `arrayFold((qs, step) -> arrayPushBack(qs, toUInt32(qs[-1] + ${next})), range(toUInt8(1), depth), [toUInt32(${first})]) AS qs`;
}

function backward(context: FunnelSqlContext): string[][] {
  const count = context.request.steps.length;
  const bit = (step: number): number => 1 << (step - 1);
  const lists = [
    [
      `arrayMap(i -> if(i = pe, bitShiftLeft(toUInt16(1), depth - 1), 0), arrayEnumerate(ks)) AS f${count}`,
    ],
  ];
  for (let step = count - 1; step >= 1; step--) {
    const known = `f${step + 1}`;
    // at an element that can be the next one: the time of the last event that breaks the gap before
    // it, + 1
    const gap = gapColumn(context, step - 1);
    const mark =
      gap === undefined
        ? `arrayMap(f -> bitTest(f, ${step}), ${known})`
        : `arrayMap((f, x) -> if(bitTest(f, ${step}), x + 1, 0), ${known}, ${gap})`;
    const nearest = `arrayReverseFill(r -> r > 0, ${mark})`;
    const ahead = isShared(context, step - 1) ? after(nearest) : nearest;
    const isOnPath = `bitTest(k, ${stepBit(step - 1)}) AND r > 0 AND r - 1 <= k`;
    lists.push([
      `arrayMap((f, k, r) -> if(${isOnPath}, bitOr(f, ${bit(step)}), f), ${known}, ks, ${ahead}) AS f${step}`,
    ]);
  }
  return lists;
}
