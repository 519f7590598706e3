import type { SweepProgress } from '../../platform/claims/claim-store.ts';

/** What is known about one partition that this process owns. */
export interface PartitionProgress {
  partition: number;
  /** Next offset to normalise; undefined: not known yet. */
  next: number | undefined;
  /** received_at of the last settled record, ms; undefined: none yet. */
  settledAt: number | undefined;
}

/** Ends of events.raw as they were at `at`, ms. */
export interface KnownEnds {
  at: number;
  ends: ReadonlyMap<number, { low: number; high: number }>;
}

/**
 * Up to where the window of claims may be swept, as far as this process can tell: a partition that
 * had come to its end when the ends were asked for is settled up to that moment, another one up to
 * its last settled record. A partition of which nothing is known is left out: nothing is swept on
 * its account.
 */
export function sweepProgress(
  epoch: number,
  positions: readonly PartitionProgress[],
  known: KnownEnds | undefined,
): SweepProgress {
  const settled: { partition: number; at: number }[] = [];
  for (const { partition, next, settledAt } of positions) {
    const end = known?.ends.get(partition);
    const isAtEnd =
      known !== undefined && end !== undefined && Math.max(next ?? 0, end.low) >= end.high;
    const at = Math.max(isAtEnd ? known.at : -1, settledAt ?? -1);
    if (at >= 0) settled.push({ partition, at });
  }
  return { epoch, settled };
}
