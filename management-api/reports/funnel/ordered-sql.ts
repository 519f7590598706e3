import { columnsOf, nestedSelects } from '../../warehouse/sql.ts';
import { stepsSharedApart } from '../overlap.ts';
import { hasEventValue } from '../breakdown-sql.ts';
import {
  after,
  before,
  carried,
  eventArraysByPerson,
  gapBit,
  hasGap,
  isShared,
  stepBit,
  TIME_SHIFT,
  type FunnelSqlContext,
} from './event-arrays.ts';
import { needsTies, tiedColumns } from './ties-sql.ts';

/**
 * The ordered funnel as passes over sorted arrays, each of them one vectorised function over all
 * people of a block.
 *
 * Forward: `l<i>` holds, at an element that can be the i-th of a path, the latest time at which
 * such a path can have started (0 elsewhere), and `s<i>` the same carried on to the later
 * elements. The latest start is the best one for every continuation, so depth i is reached where an
 * element of `l<i>` is within the window of its start, and the first such element ends the counted
 * path. With exclusions, `x<i>` holds the time of the last event that breaks gap i, and `g<i>` the
 * time of the element that `s<i>` comes from: a gap is whole when g ≥ x. Backward (exclusions
 * only): `f<i>` marks the elements that can be the i-th on a way to that end. Then the path is
 * walked from its start, always to the earliest next.
 */
export function orderedPeople(context: FunnelSqlContext): string {
  const { request } = context;
  const hasTieBreakers = hasEventValue(request) || needsTies(context);
  const people = eventArraysByPerson(context, { hasTieBreakers });
  const passes = forward(context, hasTieBreakers);
  const walked = [
    ...ending(context),
    ...(request.exclude.length > 0 ? backward(context) : []),
    ...walk(context),
    ...(needsTies(context) ? tiedColumns(context) : []),
  ];
  const path = countedPath(context).join(', ');
  const columns = ['person', 'es'];
  const read = `person, p1, ${walked.flat().join(', ')}, ${path}`;
  const reached = nestedSelects(people, passes, { columns, by: read });
  const known = [...columns, ...columnsOf(passes)];
  const source = `SELECT * FROM (${reached}) WHERE p1 > 0`;
  return `SELECT ${path} FROM (${nestedSelects(source, walked, { columns: known, by: path })})`;
}

function forward(context: FunnelSqlContext, hasTieBreakers: boolean): string[][] {
  const { request } = context;
  const count = request.steps.length;
  const lists = [
    [hasTieBreakers ? 'es.1 AS ks' : 'es AS ks', ...(hasEventValue(request) ? ['es.6 AS vs'] : [])],
    [`arrayMap(k -> bitShiftRight(k, ${TIME_SHIFT}), ks) AS ts`],
    [
      `arrayMap((k, t) -> if(bitTest(k, ${stepBit(0)}), t, 0), ks, ts) AS l1`,
      ...request.steps.slice(1).flatMap((_, at) => broken(context, at + 1)),
    ],
  ];
  for (let step = 1; step < count; step++) {
    const isPruned = isPrunedAfter(context, step);
    if (isPruned) lists.push([reached(context, step)], prune(context, step));
    lists.push([...(isPruned ? [] : [reached(context, step)]), advance(context, step)]);
  }
  return [...lists, [reached(context, count)]];
}

/** `x<step>`: at each element the time of the last event before it that breaks the gap. */
function broken(context: FunnelSqlContext, step: number): string[] {
  if (!hasGap(context, step - 1)) return [];
  const times = `arrayMap((k, t) -> if(bitTest(k, ${gapBit(step - 1)}), t, 0), ks, ts)`;
  return [`${carried(times)} AS x${step}`];
}

/** `p<step>`: position of the first element at which a path of so many steps ends. */
function reached(context: FunnelSqlContext, step: number): string {
  if (step === 1) return 'arrayFirstIndex(l -> l > 0, l1) AS p1';
  const window = context.params.whole(context.request.windowMs);
  return `arrayFirstIndex((l, t) -> l > 0 AND t <= l + ${window}, l${step}, ${arraysAt(context, step).ts}) AS p${step}`;
}

/** Empties the arrays of those who have no path of so many steps. */
function prune(context: FunnelSqlContext, step: number): string[] {
  const { ks, ts } = arraysAt(context, step);
  const next = arraysAt(context, step + 1);
  return [
    `if(p${step} > 0, ${ks}, []) AS ${next.ks}`,
    `if(p${step} > 0, ${ts}, []) AS ${next.ts}`,
    `if(p${step} > 0, l${step}, []) AS m${step}`,
  ];
}

/** From paths that end with `step` (1-based) to those that end with the next. */
function advance(context: FunnelSqlContext, step: number): string {
  const earlier = isShared(context, step - 1) ? before : (array: string): string => array;
  const isNext = `bitTest(k, ${stepBit(step)})`;
  const { ks } = arraysAt(context, step + 1);
  const starts = earlier(carried(isPrunedAfter(context, step) ? `m${step}` : `l${step}`));
  if (!hasGap(context, step - 1))
    return `arrayMap((k, s) -> if(${isNext}, s, 0), ${ks}, ${starts}) AS l${step + 1}`;
  const origins = earlier(carried(`arrayMap((l, t) -> if(l > 0, t, 0), l${step}, ts)`));
  return `arrayMap((k, s, g, x) -> if(${isNext} AND g >= x, s, 0), ks, ${starts}, ${origins}, x${step}) AS l${step + 1}`;
}

/** The arrays are pruned after every third pass. */
const PRUNE_EVERY = 3;

/**
 * After some passes the arrays of people without a path of `step` events are emptied: they have no
 * longer path either, and the later passes cost nothing for them. Returns the names of the keys and
 * times that belong to `l<step>`; step is 1-based.
 */
function arraysAt({ request }: FunnelSqlContext, step: number): { ks: string; ts: string } {
  // the backward pass over exclusions needs arrays of equal length
  const pruned =
    request.exclude.length > 0 ? 0 : Math.floor((step - 1) / PRUNE_EVERY) * PRUNE_EVERY;
  return pruned === 0 ? { ks: 'ks', ts: 'ts' } : { ks: `ks${pruned}`, ts: `ts${pruned}` };
}

/** Whether the arrays are emptied behind the pass of `step`. */
function isPrunedAfter({ request }: FunnelSqlContext, step: number): boolean {
  return request.exclude.length === 0 && step % PRUNE_EVERY === 0 && step < request.steps.length;
}

/** One row per person: depth, gap1…, and the value, of the counted path. */
function countedPath(context: FunnelSqlContext): string[] {
  const { request } = context;
  const steps = request.steps.slice(1).map((_, at) => at + 2);
  const at = request.breakdown?.step ?? 1;
  const isExact = needsTies(context);
  const time = (step: number): string =>
    isExact ? `if(is_tied, zt[tied[${step}]], ts[q${step}])` : `ts[q${step}]`;
  const value = isExact ? `if(is_tied, zv[tied[${at}]], vs[q${at}])` : `vs[q${at}]`;
  return [
    'person',
    `${isExact ? 'if(is_tied, tied_depth, depth)' : 'depth'} AS depth`,
    ...steps.map((step) => `toInt64(${time(step)}) - toInt64(${time(step - 1)}) AS gap${step - 1}`),
    ...(hasEventValue(request) ? [`${value} AS value`] : []),
  ];
}

/** `depth`, `pe`, the position of the path's last event, and `a`, the time of its first. */
function ending(context: FunnelSqlContext): string[][] {
  const { request } = context;
  const deepest = request.steps.map((_, at) => at + 1).reverse();
  const ofDeepest = (write: (step: number) => string): string =>
    `multiIf(${deepest.map((step) => `p${step} > 0, ${write(step)}`).join(', ')}, 0)`;
  const depth = `toUInt8(${deepest.map((step) => `(p${step} > 0)`).join(' + ')}) AS depth`;
  const first = ofDeepest((step) => `p${step}`);
  const start = `${ofDeepest((step) => `l${step}[pe]`)} AS a`;
  if (stepsSharedApart(request.steps) !== 'together' || needsTies(context))
    return [[depth, `${first} AS pe`], [start]];
  // equal events at the end's time are interchangeable: all but the last of them may serve earlier
  // steps, so that the path starts later
  const last = ofDeepest(
    (step) => `arrayLastIndex((l, t) -> l > 0 AND t = te, l${step}, ${arraysAt(context, step).ts})`,
  );
  return [[depth, `ts[${first}] AS te`], [`if(depth = 1, p1, ${last}) AS pe`], [start]];
}

/** `q<i>`: position of the i-th event of the path. */
function walk({ request }: FunnelSqlContext): string[][] {
  const isBackward = request.exclude.length > 0;
  // with a breakdown by an event's value, the path starts at the last of the simultaneous events;
  // otherwise at the first, so that the others can match later steps
  const find = hasEventValue(request) ? 'arrayLastIndex' : 'arrayFirstIndex';
  const start = `${find}((k, t) -> ${isBackward ? 'k' : `bitTest(k, ${stepBit(0)})`} AND t = a, ${isBackward ? 'f1' : 'ks'}, ts)`;
  const next = request.steps.slice(1).map((_, at) => {
    const [isNext, over] = isBackward
      ? ['k', `f${at + 2}`]
      : [`bitTest(k, ${stepBit(at + 1)})`, 'ks'];
    return [
      `if(depth < ${at + 2}, 0, arrayFirstIndex((k, i) -> ${isNext} AND i > q${at + 1}, ${over}, arrayEnumerate(ks))) AS q${at + 2}`,
    ];
  });
  return [[`if(depth = 1, pe, ${start}) AS q1`], ...next];
}

function backward(context: FunnelSqlContext): string[][] {
  const count = context.request.steps.length;
  const lists = [[`arrayMap(i -> depth = ${count} AND i = pe, arrayEnumerate(ks)) AS f${count}`]];
  for (let step = count - 1; step >= 1; step--) {
    // at an element that can be the next one: the time of the last event that breaks the gap before
    // it, + 1
    const mark = hasGap(context, step - 1)
      ? `arrayMap((f, x) -> if(f, x + 1, 0), f${step + 1}, x${step})`
      : `arrayMap(f -> if(f, 1, 0), f${step + 1})`;
    const nearest = `arrayReverseFill(r -> r > 0, ${mark})`;
    const ahead = isShared(context, step - 1) ? after(nearest) : nearest;
    const isOnPath = `bitTest(k, ${stepBit(step - 1)}) AND r > 0 AND r - 1 <= t`;
    lists.push([
      `arrayMap((k, t, r, i) -> if(depth = ${step}, i = pe, ${isOnPath}), ks, ts, ${ahead}, arrayEnumerate(ks)) AS f${step}`,
    ]);
  }
  return lists;
}
