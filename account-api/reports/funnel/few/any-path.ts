import { stepsOf, type AnyPathRules, type FunnelEvents, type Span } from './funnel-events.ts';
import { sharedPath } from './any-shared-path.ts';

/**
 * The positions of the counted path of a person in the funnel of any order; empty without one.
 *
 * Where no event matches two steps, the steps that a path which ends at an event can cover are
 * those that occur within the window before it. The first event with the greatest number of them
 * ends the counted path. The path starts as late as possible: with the earliest of the latest
 * events of each covered step; when all of those are after the range, with the latest event inside
 * it. The other steps match as early as possible after that.
 */
export function anyPath(events: FunnelEvents, span: Span, rules: AnyPathRules): number[] {
  for (let at = span.from; at < span.to; at++) {
    const mask = stepsOf(events.bits[at] ?? 0);
    if ((mask & (mask - 1)) !== 0) return sharedPath(events, span, rules);
  }
  const end = endOfPath(events, span, rules);
  if (end === undefined) return [];
  if (end.depth === 1) return [end.at];
  const first = startOfPath(events, span.from, { ...rules, at: end.at });
  const path = [first];
  const stepsAt = (at: number): number => stepsOf(events.bits[at] ?? 0);
  let covered = stepsAt(first) | stepsAt(end.at);
  for (let at = first + 1; at < end.at; at++) {
    if ((stepsAt(at) & ~covered) === 0) continue;
    covered |= stepsAt(at);
    path.push(at);
  }
  return [...path, end.at];
}

function endOfPath(
  { times, bits }: FunnelEvents,
  span: Span,
  { count, windowMs, end }: AnyPathRules,
): { at: number; depth: number } | undefined {
  /** By step, the times of its last event, and of its last one inside the range. */
  const last = new Array<number>(count).fill(0);
  const inside = new Array<number>(count).fill(0);
  let found: { at: number; depth: number } | undefined;
  for (let at = span.from; at < span.to; at++) {
    const [time, mask] = [times[at] ?? 0, stepsOf(bits[at] ?? 0)];
    const isNear = (one: number): boolean => one > 0 && time - one <= windowMs;
    let [depth, canStart] = [0, time < end];
    for (let step = 0; step < count; step++) {
      const isOwn = ((mask >> step) & 1) === 1;
      if (isOwn) {
        last[step] = time;
        if (time < end) inside[step] = time;
      }
      if (isNear(last[step] ?? 0)) depth++;
      if (!isOwn && isNear(inside[step] ?? 0)) canStart = true;
    }
    if (canStart && depth > (found?.depth ?? 0)) found = { at, depth };
  }
  return found;
}

/** Where the path starts that ends at `at`. */
function startOfPath(
  { times, bits }: FunnelEvents,
  from: number,
  { windowMs, end, at }: AnyPathRules & { at: number },
): number {
  const own = stepsOf(bits[at] ?? 0);
  const earliest = (times[at] ?? 0) - windowMs;
  let [seen, natural, inside] = [own, at, at];
  for (let before = at - 1; before >= from && (times[before] ?? 0) >= earliest; before--) {
    const mask = stepsOf(bits[before] ?? 0);
    if (mask & ~seen) {
      seen |= mask;
      natural = before;
    }
    if (inside === at && mask & ~own && (times[before] ?? 0) < end) inside = before;
  }
  return (times[natural] ?? 0) < end ? natural : inside;
}
