import {
  endOfTime,
  setBroken,
  type FunnelEvents,
  type PathRules,
  type Span,
} from './funnel-events.ts';
import { choosePath, type PathEnd } from './ordered-choice.ts';
import { reachOf, unionOf } from './simultaneous.ts';

/**
 * The positions of the counted path of a person in the ordered funnel; empty without one.
 *
 * For each length the search keeps the last time at which a path of this length can end, and the
 * latest start of such a path. No other path of this length can be continued better: with
 * exclusions, a gap that is whole from an earlier time is whole from the later one, and whoever has
 * a start at the earlier time can be continued to the later one, so that its start is not earlier.
 * From one time to the next, a path of j events becomes one of m when the steps between them can be
 * matched to simultaneous events; the smallest j that can has the latest start.
 */
export function orderedPath(events: FunnelEvents, span: Span, rules: PathRules): number[] {
  if (span.to - span.from === 1) return (events.bits[span.from] ?? 0) & 1 ? [span.from] : [];
  const end = endOfPath(events, span, rules);
  return end === undefined ? [] : choosePath(events, { ...span, end, count: rules.count });
}

function endOfPath(
  events: FunnelEvents,
  span: Span,
  { count, windowMs }: PathRules,
): PathEnd | undefined {
  const { times } = events;
  const paths = new LatestPaths(count);
  let found: PathEnd | undefined;
  for (let from = span.from; from < span.to;) {
    const last: Span = { from, to: endOfTime(events, { from, to: span.to }) };
    const time = times[from] ?? 0;
    if (unionOf(events, last) !== 0) {
      const reach = reachOf(events, last, count);
      const whole = paths.whole();
      // from the longest on, so that shorter ones are those of before this time
      for (let length = count; length >= 1; length--) {
        const before = smallest(whole, length, reach);
        if (before === undefined) continue;
        const start = before === 0 ? time : paths.startOf(before);
        if (time - start <= windowMs && length > (found?.depth ?? 0))
          found = { depth: length, last, continued: paths.continued({ whole, time, windowMs }) };
        paths.set(length, { start, time });
      }
    }
    paths.exclude(events, last);
    from = last.to;
  }
  return found;
}

/** The shortest path before this time that simultaneous events make one of this length. */
function smallest(
  whole: number,
  length: number,
  reach: (step: number) => number,
): number | undefined {
  for (let before = 0; before < length; before++)
    if ((whole >> before) & 1 && reach(before) >= length) return before;
  return undefined;
}

/** By length, the last path of this length. */
class LatestPaths {
  readonly #count: number;
  readonly #starts: number[];
  readonly #times: number[];
  /** By gap (0-based, behind the step of the same number): the last time that breaks it. */
  readonly #broken: number[];

  constructor(count: number) {
    this.#count = count;
    this.#starts = new Array<number>(count + 1).fill(0);
    this.#times = new Array<number>(count + 1).fill(0);
    this.#broken = new Array<number>(count + 1).fill(0);
  }

  startOf(length: number): number {
    return this.#starts[length] ?? 0;
  }

  set(length: number, { start, time }: { start: number; time: number }): void {
    this.#starts[length] = start;
    this.#times[length] = time;
  }

  /** Bit j: a path of j events can be continued; bit 0 is set. */
  whole(): number {
    let bits = 1;
    for (let length = 1; length < this.#count; length++) {
      const time = this.#times[length] ?? 0;
      if (time > 0 && (this.#broken[length - 1] ?? 0) <= time) bits |= 1 << length;
    }
    return bits;
  }

  /** The same without those whose window has ended. */
  continued({ whole, time, windowMs }: { whole: number; time: number; windowMs: number }): number {
    let bits = 1;
    for (let length = 1; length < this.#count; length++)
      if ((whole >> length) & 1 && time - this.startOf(length) <= windowMs) bits |= 1 << length;
    return bits;
  }

  /** What lies at one time breaks gaps between earlier and later events only. */
  exclude(events: FunnelEvents, span: Span): void {
    setBroken(this.#broken, events, span);
  }
}
