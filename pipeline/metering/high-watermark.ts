/** Ends or commits of all partitions of a topic, by partition. */
export type Offsets = ReadonlyMap<number, number>;

/**
 * One look at the log; taken in this order: raw ends, commits of the normaliser, normalised ends,
 * commits of the sink.
 */
export interface LogSnapshot {
  /** When the look began, ms since the epoch. */
  at: number;
  rawEnds: Offsets;
  normaliserCommits: Offsets;
  normalisedEnds: Offsets;
  sinkCommits: Offsets;
}

export interface HighWatermark {
  /**
   * Everything appended to events.raw before this time is stored or dead; 0 while nothing is known.
   */
  until: number;
  /** What the first hop must reach, as it stood at `at`. */
  first: { at: number; rawEnds: Offsets } | undefined;
  /** What the second hop must reach, for a first hop that was reached. */
  second: { at: number; normalisedEnds: Offsets } | undefined;
}

export const UNKNOWN: HighWatermark = { until: 0, first: undefined, second: undefined };

/**
 * Follows cuts through both hops: a cut of the raw ends is settled once the normaliser has passed
 * it and the sink has passed what was normalised by then.
 */
export function evolve(state: HighWatermark, look: LogSnapshot): HighWatermark {
  let { until, first, second } = state;
  first ??= { at: look.at, rawEnds: look.rawEnds };
  if (!second && reached(first.rawEnds, look.normaliserCommits)) {
    second = { at: first.at, normalisedEnds: look.normalisedEnds };
    first = undefined;
  }
  if (second && reached(second.normalisedEnds, look.sinkCommits)) {
    until = second.at;
    second = undefined;
  }
  return { until, first, second };
}

function reached(ends: Offsets, commits: Offsets): boolean {
  return [...ends].every(([partition, end]) => end === 0 || (commits.get(partition) ?? 0) >= end);
}
