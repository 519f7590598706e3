import {
  endOfTime,
  SEQUENCE_BIT,
  setBroken,
  type FunnelEvents,
  type PathRules,
  type Span,
} from './funnel-events.ts';

/**
 * The positions of the counted path of a person in the strict funnel; empty without one. A path is
 * a run of the person's sequence, so the one that ends at an event with a given length is known. A
 * path of one event needs no sequence.
 */
export function strictPath(
  events: FunnelEvents,
  span: Span,
  { count, windowMs }: PathRules,
): number[] {
  const { times, bits } = events;
  const sequence: number[] = [];
  /** By gap (0-based): the last time that breaks it. */
  const broken = new Array<number>(count).fill(0);
  /** By length: the start of the run that ends at the last event of the sequence; 0: none. */
  let runs = new Array<number>(count + 1).fill(0);
  let path: number[] = [];
  for (let from = span.from; from < span.to;) {
    const to = endOfTime(events, { from, to: span.to });
    const time = times[from] ?? 0;
    for (let at = from; at < to; at++) {
      const own = bits[at] ?? 0;
      if (path.length === 0 && own & 1) path = [at];
      if (!((own >> SEQUENCE_BIT) & 1)) continue;
      const before = times[sequence.at(-1) ?? -1] ?? 0;
      sequence.push(at);
      const next = new Array<number>(count + 1).fill(0);
      if (own & 1) next[1] = time;
      for (let length = 2; length <= count; length++) {
        const start = runs[length - 1] ?? 0;
        const isNext = ((own >> (length - 1)) & 1) === 1 && start > 0;
        if (!isNext || time - start > windowMs || (broken[length - 2] ?? 0) > before) continue;
        next[length] = start;
        if (length > path.length) path = sequence.slice(-length);
      }
      runs = next;
    }
    setBroken(broken, events, { from, to });
    from = to;
  }
  return path;
}
