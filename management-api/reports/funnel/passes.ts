import { stepsOverlap } from '../overlap.ts';
import type { FunnelSqlContext } from './elements.ts';

/** Whether step `at + 1` (0-based) can be taken by an event that also matches step `at`: then only what lies before that event counts. */
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
