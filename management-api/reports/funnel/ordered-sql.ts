import {
  eventArraysByPerson,
  gapBit,
  hasEventValue,
  stepBit,
  TIME_SHIFT,
  type FunnelSqlContext,
} from './event-arrays.ts';
import { countedChain } from './chain-sql.ts';
import { arraysAt, before, carried, hasGap, isPrunedAfter, isShared } from './passes.ts';
import { needsTies } from './ties-sql.ts';
import { nestedSelects } from '../../warehouse/nested-selects.ts';

/**
 * The ordered funnel as passes over sorted arrays, each of them one vectorised function over all
 * people of a block.
 *
 * Forward: `l<i>` holds, at an element that can be the i-th of a chain, the latest time at which
 * such a chain can have started (0 elsewhere), and `s<i>` the same carried on to the later
 * elements. The latest start is the best one for every continuation, so depth i is reached where an
 * element of `l<i>` is within the window of its start, and the first such element ends the counted
 * chain. With exclusions, `x<i>` holds the time of the last event that breaks gap i, and `g<i>` the
 * time of the element that `s<i>` comes from: a gap is whole when g ≥ x. Backward (exclusions
 * only): `f<i>` marks the elements that can be the i-th on a way to that end. Then the chain is
 * walked from its start, always to the earliest next.
 */
export function orderedPeople(context: FunnelSqlContext): string {
  const { request } = context;
  const isPlaced = hasEventValue(request) || needsTies(context);
  return countedChain(
    context,
    forward(context, eventArraysByPerson(context, { isPlaced }), isPlaced),
  );
}

function forward(context: FunnelSqlContext, elements: string, isPlaced: boolean): string {
  const { request } = context;
  const lists = [
    [
      isPlaced ? 'es.1 AS ks' : 'es AS ks',
      ...(hasEventValue(request) ? ['es.6 AS vs'] : []),
      `arrayMap(k -> bitShiftRight(k, ${TIME_SHIFT}), ks) AS ts`,
      `arrayMap(k -> if(bitTest(k, ${stepBit(0)}), bitShiftRight(k, ${TIME_SHIFT}), 0), ks) AS l1`,
      'arrayFirstIndex(l -> l > 0, l1) AS p1',
    ],
  ];
  for (let step = 1; step < request.steps.length; step++)
    lists.push(
      ...(isPrunedAfter(context, step) ? [prune(context, step)] : []),
      advance(context, step),
    );
  return nestedSelects(elements, lists);
}

/** Empties the arrays of those who have no chain of so many steps. */
function prune(context: FunnelSqlContext, step: number): string[] {
  const { ks, ts } = arraysAt(context, step);
  const next = arraysAt(context, step + 1);
  return [
    `if(p${step} > 0, ${ks}, []) AS ${next.ks}`,
    `if(p${step} > 0, ${ts}, []) AS ${next.ts}`,
    `if(p${step} > 0, l${step}, []) AS m${step}`,
  ];
}

/** From chains that end with `step` (1-based) to those that end with the next. */
function advance(context: FunnelSqlContext, step: number): string[] {
  const { request, params } = context;
  const earlier = isShared(context, step - 1) ? before : (array: string): string => array;
  const isNext = `bitTest(k, ${stepBit(step)})`;
  const { ks, ts } = arraysAt(context, step + 1);
  const starts = earlier(carried(isPrunedAfter(context, step) ? `m${step}` : `l${step}`));
  const reached = `arrayFirstIndex((l, t) -> l > 0 AND t <= l + ${params.whole(request.windowMs)}, l${step + 1}, ${ts}) AS p${step + 1}`;
  if (!hasGap(context, step - 1))
    return [`arrayMap((k, s) -> if(${isNext}, s, 0), ${ks}, ${starts}) AS l${step + 1}`, reached];
  const origins = earlier(carried(`arrayMap((l, t) -> if(l > 0, t, 0), l${step}, ts)`));
  return [
    `${carried(`arrayMap((k, t) -> if(bitTest(k, ${gapBit(step - 1)}), t, 0), ks, ts)`)} AS x${step}`,
    `arrayMap((k, s, g, x) -> if(${isNext} AND g >= x, s, 0), ks, ${starts}, ${origins}, x${step}) AS l${step + 1}`,
    reached,
  ];
}
