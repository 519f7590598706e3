import { stepsOf, type AnyPathRules, type FunnelEvents, type Span } from './funnel-events.ts';

/**
 * The counted path in any order where an event can match several steps: at most six of them
 * (../request.ts), so that there are 64 sets of steps. Of the paths that cover the same steps the
 * best is kept: the one that starts later, then the one whose second event is earlier, and so on,
 * because whatever continues the other continues it too.
 */
export function sharedPath(
  { times, bits }: FunnelEvents,
  { from, to }: Span,
  { count, windowMs, end }: AnyPathRules,
): number[] {
  const best = new BestPaths(count);
  let counted: number[] = [];
  for (let at = from; at < to; at++) {
    const [time, mask] = [times[at] ?? 0, stepsOf(bits[at] ?? 0)];
    let longest = 0;
    // larger sets first: a path that gets this event is not continued by it again
    for (let steps = best.sets - 1; steps >= 0; steps--) {
      const length = best.lengthOf(steps);
      if (steps === 0 ? time >= end : length === 0) continue;
      if (steps !== 0 && time - (times[best.startOf(steps)] ?? 0) > windowMs) continue;
      for (let step = 0; step < count; step++)
        if (((mask & ~steps) >> step) & 1) {
          best.offer(steps, { step, at });
          if (length + 1 > longest) longest = length + 1;
        }
    }
    // until now no path was so long: all of them end with this event
    if (longest > counted.length) counted = best.bestOf(longest);
  }
  return counted;
}

/** By set of steps, the best path that covers them. */
class BestPaths {
  /** Sets of steps. */
  readonly sets: number;
  readonly #count: number;
  readonly #lengths: Uint8Array;
  /** Positions of events, `count` for each set. */
  readonly #paths: Int32Array;

  constructor(count: number) {
    this.sets = 1 << count;
    this.#count = count;
    this.#lengths = new Uint8Array(this.sets);
    this.#paths = new Int32Array(this.sets * count);
  }

  /** 0: none is known. */
  lengthOf(steps: number): number {
    return this.#lengths[steps] ?? 0;
  }

  startOf(steps: number): number {
    return this.#paths[steps * this.#count] ?? 0;
  }

  /** The path of these steps, continued with an event for another step, if it is the best. */
  offer(steps: number, { step, at }: { step: number; at: number }): void {
    const [source, length] = [steps * this.#count, this.lengthOf(steps)];
    const covered = steps | (1 << step);
    const target = covered * this.#count;
    if (this.lengthOf(covered) > 0) {
      let differs = 0;
      while (differs < length && this.#paths[source + differs] === this.#paths[target + differs])
        differs++;
      const one = differs < length ? (this.#paths[source + differs] ?? 0) : at;
      const other = this.#paths[target + differs] ?? 0;
      if (differs === 0 ? one <= other : one >= other) return;
    }
    this.#paths.copyWithin(target, source, source + length);
    this.#paths[target + length] = at;
    this.#lengths[covered] = length + 1;
  }

  /** The best path of this length. */
  bestOf(length: number): number[] {
    const isBetter = (path: number[], other: number[]): boolean => {
      const at = path.findIndex((position, index) => position !== other[index]);
      const [one = 0, two = 0] = [path[at], other[at]];
      return at === 0 ? one > two : one < two;
    };
    let best: number[] | undefined;
    for (let steps = 1; steps < this.sets; steps++) {
      if (this.lengthOf(steps) !== length) continue;
      const start = steps * this.#count;
      const path = [...this.#paths.subarray(start, start + length)];
      if (!best || isBetter(path, best)) best = path;
    }
    return best ?? [];
  }
}
