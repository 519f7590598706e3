import { stepsOverlap } from '../overlap.ts';
import type { FunnelSqlContext } from './event-arrays.ts';

/**
 * Whether step `at + 1` (0-based) can be taken by an event that also matches step `at`: then only
 * what lies before that event counts.
 */
export function isShared({ request }: FunnelSqlContext, at: number): boolean {
  return stepsOverlap(request.steps.slice(at, at + 2));
}

/** Whether an exclusion breaks the gap between the steps `at` and `at + 1` (0-based). */
export function hasGap({ request }: FunnelSqlContext, at: number): boolean {
  return request.exclude.some(({ fromStep, toStep }) => fromStep <= at + 1 && at + 1 < toStep);
}

/** An array whose elements moved one place on: at each element what was at the one before. */
export const before = (array: string): string => `arrayPopBack(arrayPushFront(${array}, 0))`;
export const after = (array: string): string => `arrayPopFront(arrayPushBack(${array}, 0))`;
/** An array whose zeros took the last value before them. */
export const carried = (array: string): string => `arrayFill(x -> x > 0, ${array})`;

/** Passes between two looks at who is still on the way. */
const PRUNE_EVERY = 3;

/**
 * After some passes the arrays of people who did not get so far are emptied: whoever has no chain
 * of `step` events has none of more, and the later passes cost nothing for them. Names of the keys
 * and times that go with `l<step>`; step is 1-based.
 */
export function arraysAt({ request }: FunnelSqlContext, step: number): { ks: string; ts: string } {
  // The way back over exclusions needs the arrays of all passes to be of one length.
  const pruned =
    request.exclude.length > 0 ? 0 : Math.floor((step - 1) / PRUNE_EVERY) * PRUNE_EVERY;
  return pruned === 0 ? { ks: 'ks', ts: 'ts' } : { ks: `ks${pruned}`, ts: `ts${pruned}` };
}

/** Whether the arrays are emptied behind the pass of `step`. */
export function isPrunedAfter({ request }: FunnelSqlContext, step: number): boolean {
  return request.exclude.length === 0 && step % PRUNE_EVERY === 0 && step < request.steps.length;
}
