import { nestedSelects } from '../../warehouse/nested-selects.ts';
import { stepsSharedApart } from '../overlap.ts';
import {
  hasEventValue,
  stepBit,
  STEP_BITS,
  TIME_SHIFT,
  type FunnelSqlContext,
} from './event-arrays.ts';
import { after, arraysAt, hasGap, isShared } from './passes.ts';
import { foldTies, isTied, needsTies } from './ties-sql.ts';

/**
 * SELECT of one row a person: depth, gap1…, and the value, by walking the counted chain over the
 * columns of the forward passes.
 */
export function countedChain(context: FunnelSqlContext, source: string): string {
  const { request } = context;
  const walked = nestedSelects(`SELECT * FROM (${source}) WHERE p1 > 0`, [
    ...ending(context),
    request.exclude.length > 0 ? backward(context) : [],
    walk(context),
  ]);
  const steps = request.steps.slice(1).map((_, at) => at + 2);
  const at = request.breakdown?.step ?? 1;
  const isExact = needsTies(context);
  const time = (step: number): string =>
    isExact ? `if(is_tied, zt[tied[${step}]], ts[q${step}])` : `ts[q${step}]`;
  const value = isExact ? `if(is_tied, zv[tied[${at}]], vs[q${at}])` : `vs[q${at}]`;
  const columns = [
    `${isExact ? 'if(is_tied, tied_depth, depth)' : 'depth'} AS depth`,
    ...steps.map((step) => `toInt64(${time(step)}) - toInt64(${time(step - 1)}) AS gap${step - 1}`),
    ...(hasEventValue(request) ? [`${value} AS value`] : []),
  ];
  return `SELECT person, ${columns.join(', ')} FROM (${isExact ? nestedSelects(walked, tiedColumns(context)) : walked})`;
}

/** `depth`, `pe`, the position of the chain's last event, and `a`, the time of its first. */
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
  // steps, so that the chain starts later
  const last = ofDeepest(
    (step) => `arrayLastIndex((l, t) -> l > 0 AND t = te, l${step}, ${arraysAt(context, step).ts})`,
  );
  return [[depth, `ts[${first}] AS te`], [`if(depth = 1, p1, ${last}) AS pe`], [start]];
}

/** `q<i>`: position of the i-th event of the chain. */
function walk({ request }: FunnelSqlContext): string[] {
  const isBackward = request.exclude.length > 0;
  // where its value is asked for, the start is the last of its time; otherwise the first leaves
  // room for equal events
  const find = hasEventValue(request) ? 'arrayLastIndex' : 'arrayFirstIndex';
  const start = `${find}((k, t) -> ${isBackward ? 'k' : `bitTest(k, ${stepBit(0)})`} AND t = a, ${isBackward ? 'f1' : 'ks'}, ts)`;
  const next = request.steps.slice(1).map((_, at) => {
    const [isNext, over] = isBackward
      ? ['k', `f${at + 2}`]
      : [`bitTest(k, ${stepBit(at + 1)})`, 'ks'];
    return `if(depth < ${at + 2}, 0, arrayFirstIndex((k, i) -> ${isNext} AND i > q${at + 1}, ${over}, arrayEnumerate(ks))) AS q${at + 2}`;
  });
  return [`if(depth = 1, pe, ${start}) AS q1`, ...next];
}

function backward(context: FunnelSqlContext): string[] {
  const count = context.request.steps.length;
  const columns = [`arrayMap(i -> depth = ${count} AND i = pe, arrayEnumerate(ks)) AS f${count}`];
  for (let step = count - 1; step >= 1; step--) {
    // at an element that can be the next one: the time of the last event that breaks the gap before
    // it, + 1
    const mark = hasGap(context, step - 1)
      ? `arrayMap((f, x) -> if(f, x + 1, 0), f${step + 1}, x${step})`
      : `arrayMap(f -> if(f, 1, 0), f${step + 1})`;
    const nearest = `arrayReverseFill(r -> r > 0, ${mark})`;
    const ahead = isShared(context, step - 1) ? after(nearest) : nearest;
    const isOnTheWay = `bitTest(k, ${stepBit(step - 1)}) AND r > 0 AND r - 1 <= t`;
    columns.push(
      `arrayMap((k, t, r, i) -> if(depth = ${step}, i = pe, ${isOnTheWay}), ks, ts, ${ahead}, arrayEnumerate(ks)) AS f${step}`,
    );
  }
  return columns;
}

/**
 * For people with simultaneous events that are ambiguous: the chain by the exact fold. For all
 * others the arrays are empty and cost nothing.
 */
function tiedColumns(context: FunnelSqlContext): string[][] {
  const order = `(bitShiftRight(e.1, ${TIME_SHIFT}), e.2, e.3, e.4, e.5)`;
  return [
    [`${isTied('ks')} AS is_tied`],
    [
      `if(is_tied, arraySort(e -> ${order}, arrayFilter(e -> bitAnd(e.1, ${STEP_BITS}) != 0, es)), []) AS zs`,
    ],
    [
      `arrayMap(e -> bitShiftRight(e.1, ${TIME_SHIFT}), zs) AS zt`,
      `arrayMap(e -> bitAnd(e.1, ${STEP_BITS}), zs) AS zm`,
      'arrayEnumerate(zs) AS zp',
      ...(context.request.exclude.length > 0
        ? [`if(is_tied, arrayFilter(k -> bitTest(k, 23), ks), []) AS zx`]
        : []),
      ...(hasEventValue(context.request) ? ['zs.6 AS zv'] : []),
    ],
    ['arrayMap((t, n) -> t != n, zt, arrayPopFront(arrayPushBack(zt, 0))) AS zl'],
    [`${foldTies(context)}.2 AS tied_depth`],
    [`${foldTies(context, 'tied_depth')}.3 AS tied`],
  ];
}
