/** End or committed offsets of a topic, by partition. */
export type Offsets = ReadonlyMap<number, number>;

/**
 * Offsets of both hops, read in this order: ends of events.raw, commits of the normaliser, ends of
 * events.normalised, commits of the sink.
 */
export interface LogSnapshot {
  /** When the first offset was read, ms since the epoch. */
  at: number;
  rawEnds: Offsets;
  normaliserCommits: Offsets;
  normalisedEnds: Offsets;
  sinkCommits: Offsets;
}

export interface HighWatermark {
  /** Everything appended to events.raw before this time is stored or dead; 0 while unknown. */
  until: number;
  /** The ends that the normaliser must reach for the next watermark. */
  normalising: { at: number; rawEnds: Offsets } | undefined;
  /** The ends that the sink must reach, for raw ends that the normaliser has reached. */
  storing: { at: number; normalisedEnds: Offsets } | undefined;
}

export const UNKNOWN: HighWatermark = { until: 0, normalising: undefined, storing: undefined };

/**
 * Follows the raw ends of one snapshot through both hops: the watermark advances to the time of
 * that snapshot once the normaliser has reached its raw ends, and the sink everything normalised by
 * then.
 */
export function evolve(state: HighWatermark, snapshot: LogSnapshot): HighWatermark {
  let { until, normalising, storing } = state;
  normalising ??= { at: snapshot.at, rawEnds: snapshot.rawEnds };
  if (!storing && reached(normalising.rawEnds, snapshot.normaliserCommits)) {
    storing = { at: normalising.at, normalisedEnds: snapshot.normalisedEnds };
    normalising = undefined;
  }
  if (storing && reached(storing.normalisedEnds, snapshot.sinkCommits)) {
    until = storing.at;
    storing = undefined;
  }
  return { until, normalising, storing };
}

function reached(ends: Offsets, commits: Offsets): boolean {
  return [...ends].every(([partition, end]) => end === 0 || (commits.get(partition) ?? 0) >= end);
}
