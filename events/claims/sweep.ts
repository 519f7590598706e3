const MIN_SLACK_MS = 600_000;
/** A resolved claim outlives its window by this part of it. */
const SLACK_PER_WINDOW = 16;
/** A claim that can be packed waits for half a round. */
const ROUNDS_PER_WINDOW = 32;

/**
 * How long a resolved claim outlives its window after all partitions have been processed beyond it,
 * ms. Records of a partition are slightly out of order by receive time (clocks differ), and records
 * from a spool a lot.
 */
export function sweepSlack(dedupeTtl: number): number {
  return Math.max(MIN_SLACK_MS, dedupeTtl / SLACK_PER_WINDOW);
}

/** Buckets per `every` ms for one round in a 32nd of the window; from 1 to `max`. */
export function visitsPerSweep(options: {
  readonly buckets: number;
  readonly dedupeTtl: number;
  readonly every: number;
  readonly max: number;
}): number {
  const sweeps = Math.max(1, options.dedupeTtl / ROUNDS_PER_WINDOW / options.every);
  return Math.min(Math.max(1, Math.ceil(options.buckets / sweeps)), options.max);
}
