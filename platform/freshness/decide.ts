/** One partition of a hop. */
export interface PartitionProgress {
  /** High watermark: the offset of the next record. */
  end: number;
  /** First retained offset. */
  low: number;
  /** Offset that the group processes next; undefined: it never committed. */
  committed: number | undefined;
}

/** A consumer group on its topic, partition by partition. */
export interface HopProgress {
  topic: string;
  group: string;
  partitions: ReadonlyMap<number, PartitionProgress>;
}

export interface NextRecord {
  topic: string;
  group: string;
  partition: number;
  /** If the record at this offset was deleted or never existed, the next one counts. */
  offset: number;
}

/** Next record of each lagging group and partition: their append times bound freshness. */
export function nextRecords(hops: readonly HopProgress[]): NextRecord[] {
  return hops.flatMap(({ topic, group, partitions }) =>
    [...partitions].flatMap(([partition, progress]) => {
      const offset = Math.max(progress.committed ?? progress.low, progress.low);
      return offset < progress.end ? [{ topic, group, partition, offset }] : [];
    }),
  );
}

/** When the next records were appended to events.raw, in the order of nextRecords. */
export interface Snapshot {
  /** Clock before anything was read, ms since the epoch. */
  startedAt: number;
  behind: readonly { group: string; appendedAt: number }[];
}

/**
 * The latest T such that these groups have processed every record appended to events.raw before T
 * (reports: Shared by both reports, `fresh_until`); ms since the epoch. Holds when the high
 * watermarks were read after `startedAt`, and the offsets of each hop after the high watermarks of
 * its topic, hop by hop in the direction of the events: a partition whose group has reached the end
 * was read up to `startedAt`.
 */
export function freshUntil(snapshot: Snapshot, groups: readonly string[]): number {
  const bounds = snapshot.behind
    .filter(({ group }) => groups.includes(group))
    .map(({ appendedAt }) => appendedAt);
  return Math.min(snapshot.startedAt, ...bounds);
}
