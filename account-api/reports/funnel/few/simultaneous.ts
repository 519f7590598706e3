import { stepsOf, type FunnelEvents, type Span } from './funnel-events.ts';
import { StepMatching } from './step-matching.ts';

/**
 * By step: the greatest end for which each of the steps from this one to the end (not included) can
 * be matched to one of the simultaneous events. A step that none of them matches is its own end.
 */
export type Reach = (step: number) => number;

/** How far simultaneous events take a path of each length. */
export function reachOf(events: FunnelEvents, span: Span, count: number): Reach {
  const { matching, union, isApart } = summary(events, span);
  if (matching === 1) return (step) => step + ((union >> step) & 1);
  if (isApart)
    return (step) => {
      let end = step;
      while (end < count && (union >> end) & 1) end++;
      return end;
    };
  const ends = new StepMatching(events, span).reaches(count);
  return (step) => ends[step] ?? step;
}

/** How many of the events match a step, the steps that they match, and whether each matches one. */
function summary(
  { bits }: FunnelEvents,
  { from, to }: Span,
): { matching: number; union: number; isApart: boolean } {
  let [matching, union, isApart] = [0, 0, true];
  for (let at = from; at < to; at++) {
    const mask = stepsOf(bits[at] ?? 0);
    if (mask === 0) continue;
    matching++;
    union |= mask;
    if ((mask & (mask - 1)) !== 0) isApart = false;
  }
  return { matching, union, isApart };
}

/** The steps that at least one of the simultaneous events matches. */
export function unionOf({ bits }: FunnelEvents, { from, to }: Span): number {
  let union = 0;
  for (let at = from; at < to; at++) union |= stepsOf(bits[at] ?? 0);
  return union;
}
