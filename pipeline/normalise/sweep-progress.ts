import type { SweepProgress } from '../../platform/claims/claim-store.ts';

/** Progress of one partition that this process owns. */
export interface PartitionProgress {
  partition: number;
  /** Next offset to normalise; undefined while unknown. */
  next: number | undefined;
  /** received_at of the last processed record, ms; undefined before the first one. */
  processedUntil: number | undefined;
}

/** Ends of events.raw and events.normalised at time `at`, ms. */
export interface KnownEnds {
  at: number;
  ends: ReadonlyMap<number, { low: number; high: number }>;
  /** Ends of events.normalised, by partition. */
  normalised: ReadonlyMap<number, number>;
}

/**
 * Up to which time the partitions of this process are processed, for the sweep of claims. A
 * partition that had reached its end when the ends were read is processed until that moment,
 * another one until its last processed record. A partition without known progress is left out.
 */
export function sweepProgress(
  epoch: number,
  partitions: readonly PartitionProgress[],
  known: KnownEnds | undefined,
  stored?: ReadonlyMap<number, number>,
): SweepProgress {
  const processed: { partition: number; until: number }[] = [];
  for (const { partition, next, processedUntil } of partitions) {
    const end = known?.ends.get(partition);
    const isAtEnd =
      known !== undefined && end !== undefined && Math.max(next ?? 0, end.low) >= end.high;
    const until = Math.max(isAtEnd ? known.at : -1, processedUntil ?? -1);
    if (until >= 0) processed.push({ partition, until });
  }
  return {
    ...{ epoch, processed },
    ...(known ? { ends: known.normalised } : {}),
    ...(stored ? { stored } : {}),
  };
}
