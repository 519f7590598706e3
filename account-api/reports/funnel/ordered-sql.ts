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
 * such a path can have started (0 elsewhere), and `s` the same carried on to the later elements.
 * The latest start is the best one for every continuation, so depth i is reached where an element
 * of `l<i>` is within the window of its start, and the first such element ends the counted path.
 * `ps` collects these positions, by step, and `ls` their starts. With exclusions, `x<i>` holds the
 * time of the last event that breaks the gaps with the same exclusions as gap i, and `g` the time
 * of the element that `s` comes from: a gap is whole when g ≥ x. Backward (exclusions only): bit i
 * - 1 of `f` marks the elements that can be the i-th on a way to that end. Then the path is walked
 * from its start, always to the earliest next.
 *
 * Planning a query costs ClickHouse about as much for each column that a level passes on as for a
 * function, so the results of all steps are one array instead of a column for each step.
 */
export function orderedPeople(context: FunnelSqlContext): string {
  const { request } = context;
  const hasTieBreakers = hasEventValue(request) || needsTies(context);
  const people = eventArraysByPerson(context, { hasTieBreakers });
  const started = start(context, hasTieBreakers);
  const walked = [
    ...forward(context),
    ...ending(context),
    ...(request.exclude.length > 0 ? backward(context) : []),
    [walk(context)],
    ...(needsTies(context) ? tiedColumns(context) : []),
  ];
  const path = countedPath(context).join(', ');
  const columns = ['person', 'es'];
  const read = `person, ps1, ${walked.flat().join(', ')}, ${path}`;
  const known = [...columns, ...columnsOf(started)];
  const source = `SELECT * FROM (${nestedSelects(people, started, { columns, by: read })}) WHERE ps1[1] > 0`;
  return `SELECT ${path} FROM (${nestedSelects(source, walked, { columns: known, by: path })})`;
}

/** Up to the paths of one event; whoever has none is left out. */
function start(context: FunnelSqlContext, hasTieBreakers: boolean): string[][] {
  const { request } = context;
  const columns = new Set(request.steps.slice(1).flatMap((_, at) => gapColumn(context, at) ?? []));
  return [
    [hasTieBreakers ? 'es.1 AS ks' : 'es AS ks', ...(hasEventValue(request) ? ['es.6 AS vs'] : [])],
    [`arrayMap(k -> bitShiftRight(k, ${TIME_SHIFT}), ks) AS ts`],
    [
      `arrayMap((k, t) -> if(bitTest(k, ${stepBit(0)}), t, 0), ks, ts) AS l1`,
      ...[...columns].map((name) => `${broken(Number(name.slice(1)))} AS ${name}`),
    ],
    ['[arrayFirstIndex(l -> l > 0, l1)] AS ps1'],
  ];
}

/** At each element the time of the last event before it that breaks a gap (1-based). */
function broken(gap: number): string {
  return carried(`arrayMap((k, t) -> if(bitTest(k, ${gapBit(gap - 1)}), t, 0), ks, ts)`);
}

function forward(context: FunnelSqlContext): string[][] {
  const count = context.request.steps.length;
  const lists: string[][] = [];
  for (let step = 1; step < count; step++) {
    if (isPrunedAfter(context, step)) lists.push(prune(context, step));
    lists.push([advance(context, step), ...startOf(context, step)]);
    lists.push([reached(context, step + 1)]);
  }
  return [...lists, startOf(context, count)];
}

/** `ps<step>`: with the position of the first element at which a path of so many steps ends. */
function reached(context: FunnelSqlContext, step: number): string {
  const window = context.params.whole(context.request.windowMs);
  return `arrayPushBack(ps${step - 1}, arrayFirstIndex((l, t) -> l > 0 AND t <= l + ${window}, l${step}, ${arraysAt(context, step).ts})) AS ps${step}`;
}

/** `ls<step>`: with the start of the path that ends at `ps<step>`. */
function startOf(context: FunnelSqlContext, step: number): string[] {
  const found = `l${step}[ps${step}[-1]]`;
  return [`${step === 1 ? `[${found}]` : `arrayPushBack(ls${step - 1}, ${found})`} AS ls${step}`];
}

/** Empties the arrays of those who have no path of so many steps. */
function prune(context: FunnelSqlContext, step: number): string[] {
  const { ks, ts } = arraysAt(context, step);
  const next = arraysAt(context, step + 1);
  return [
    `if(ps${step}[-1] > 0, ${ks}, []) AS ${next.ks}`,
    `if(ps${step}[-1] > 0, ${ts}, []) AS ${next.ts}`,
    `if(ps${step}[-1] > 0, l${step}, []) AS m${step}`,
  ];
}

/** From paths that end with `step` (1-based) to those that end with the next. */
function advance(context: FunnelSqlContext, step: number): string {
  const earlier = isShared(context, step - 1) ? before : (array: string): string => array;
  const isNext = `bitTest(k, ${stepBit(step)})`;
  const { ks } = arraysAt(context, step + 1);
  const starts = earlier(carried(isPrunedAfter(context, step) ? `m${step}` : `l${step}`));
  const gap = gapColumn(context, step - 1);
  if (gap === undefined)
    return `arrayMap((k, s) -> if(${isNext}, s, 0), ${ks}, ${starts}) AS l${step + 1}`;
  const origins = earlier(carried(`arrayMap((l, t) -> if(l > 0, t, 0), l${step}, ts)`));
  return `arrayMap((k, s, g, x) -> if(${isNext} AND g >= x, s, 0), ks, ${starts}, ${origins}, ${gap}) AS l${step + 1}`;
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
    isExact ? `if(is_tied, zt[tied[${step}]], ts[qs[${step}]])` : `ts[qs[${step}]]`;
  const value = isExact ? `if(is_tied, zv[tied[${at}]], vs[qs[${at}]])` : `vs[qs[${at}]]`;
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
  const count = request.steps.length;
  const depth = `toUInt8(indexOf(arrayPushBack(ps${count}, 0), 0) - 1) AS depth`;
  if (stepsSharedApart(request.steps) !== 'together' || needsTies(context))
    return [[depth], [`ps${count}[depth] AS pe`, `ls${count}[depth] AS a`]];
  // equal events at the end's time are interchangeable: all but the last of them may serve earlier
  // steps, so that the path starts later
  const steps = request.steps.map((_, at) => at + 1);
  const last = steps.map(
    (step) =>
      `depth = ${step}, arrayLastIndex((l, t) -> l > 0 AND t = te, l${step}, ${arraysAt(context, step).ts})`,
  );
  const startAt = steps.map((step) => `depth = ${step}, l${step}[pe]`);
  return [
    [depth],
    [`ts[ps${count}[depth]] AS te`],
    [`multiIf(depth = 1, ps${count}[1], ${last.slice(1).join(', ')}, 0) AS pe`],
    [`multiIf(${startAt.join(', ')}, 0) AS a`],
  ];
}

/** `qs`: positions of the path's events. */
function walk({ request }: FunnelSqlContext): string {
  const marks = request.exclude.length > 0 ? 'f1' : 'ks';
  // with a breakdown by an event's value, the path starts at the last of the simultaneous events;
  // otherwise at the first, so that the others can match later steps
  const find = hasEventValue(request) ? 'arrayLastIndex' : 'arrayFirstIndex';
  const first = `if(depth = 1, pe, ${find}((m, t) -> bitTest(m, ${stepBit(0)}) AND t = a, ${marks}, ts))`;
  const next = `arrayFirstIndex(m -> bitTest(m, step), arraySlice(${marks}, qs[-1] + 1))`;
  return `arrayFold((qs, step) -> arrayPushBack(qs, if(${next} = 0, 0, toUInt32(qs[-1] + ${next}))), range(toUInt8(1), depth), [${first}]) AS qs`;
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
    const isOnPath = `bitTest(k, ${stepBit(step - 1)}) AND r > 0 AND r - 1 <= t`;
    lists.push([
      `arrayMap((f, k, t, r) -> if(${isOnPath}, bitOr(f, ${bit(step)}), f), ${known}, ks, ts, ${ahead}) AS f${step}`,
    ]);
  }
  return lists;
}
