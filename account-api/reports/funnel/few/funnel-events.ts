import { GAP_SHIFT, STEP_BITS } from '../event-arrays.ts';

/**
 * Events that a funnel reads, column by column. Those of a person follow each other in their total
 * order: (timestamp, received_at, _partition, _offset, _index).
 */
export interface FunnelEvents {
  /** Milliseconds since the range's start + 1. */
  times: readonly number[];
  /** Steps that the event matches, gaps that it breaks, and whether it is in the sequence. */
  bits: readonly number[];
}

/** Positions of one person's events: from ≤ position < to. */
export interface Span {
  from: number;
  to: number;
}

export interface PathRules {
  /** Steps of the funnel. */
  count: number;
  windowMs: number;
}

export interface AnyPathRules extends PathRules {
  /** The first time behind the range, as in the events' times. */
  end: number;
}

/** The bit of an event that belongs to the sequence in which strict steps are adjacent. */
export const SEQUENCE_BIT = 23;

export function stepsOf(bits: number): number {
  return bits & STEP_BITS;
}

/** Sets the time of the gaps (0-based, behind the step of the same number) that events break. */
export function setBroken(
  broken: number[],
  { times, bits }: FunnelEvents,
  { from, to }: Span,
): void {
  for (let at = from; at < to; at++) {
    const gaps = ((bits[at] ?? 0) >> GAP_SHIFT) & (STEP_BITS >> 1);
    for (let gap = 0; gaps >> gap !== 0; gap++) if ((gaps >> gap) & 1) broken[gap] = times[at] ?? 0;
  }
}

/** The position behind the last event that is simultaneous with the one at `from`. */
export function endOfTime({ times }: FunnelEvents, { from, to }: Span): number {
  let end = from + 1;
  while (end < to && times[end] === times[from]) end++;
  return end;
}
