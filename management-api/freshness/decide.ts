/**
 * One partition on a hop: what has been appended, how far the group has come, and when the next
 * thing that it has not taken was appended to events.raw.
 */
export interface PartitionProgress {
  /** Offset that the next record will get. */
  end: number;
  /** First offset that is kept. */
  low: number;
  /** Offset that the group takes next; undefined: it never committed. */
  committed: number | undefined;
}

/** A group on its topic, partition by partition. */
export interface HopProgress {
  topic: string;
  group: string;
  partitions: ReadonlyMap<number, PartitionProgress>;
}

export interface NextRecord {
  topic: string;
  group: string;
  partition: number;
  /**
   * Where to look; a record that was deleted or never existed there is replaced by the next one.
   */
  offset: number;
}

/**
 * The records that stand next for groups that are behind: when they were appended bounds the
 * freshness.
 */
export function nextRecords(hops: readonly HopProgress[]): NextRecord[] {
  return hops.flatMap(({ topic, group, partitions }) =>
    [...partitions].flatMap(([partition, progress]) => {
      const offset = Math.max(progress.committed ?? progress.low, progress.low);
      return offset < progress.end ? [{ topic, group, partition, offset }] : [];
    }),
  );
}

/**
 * When the next records were appended to events.raw, in the order of nextRecords; ms since the
 * epoch.
 */
export interface Snapshot {
  /** Clock before anything was read. */
  startedAt: number;
  behind: readonly { group: string; appendedAt: number }[];
}

/**
 * The latest T such that everything appended to events.raw before T has passed these groups
 * (reports.md, `fresh_until`); ms since the epoch. Holds when ends were read after `startedAt`, and
 * the offsets of each hop after the ends of its topic, hop by hop in the direction of the events: a
 * partition whose group has reached the end was read up to `startedAt`.
 */
export function freshUntil(snapshot: Snapshot, groups: readonly string[]): number {
  const bounds = snapshot.behind
    .filter(({ group }) => groups.includes(group))
    .map(({ appendedAt }) => appendedAt);
  return Math.min(snapshot.startedAt, ...bounds);
}
