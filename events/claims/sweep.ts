const LEAST_SLACK_MS = 600_000;
const WINDOW_SHARE = 16;

/**
 * How much longer than its window a place is kept after all partitions have been settled beyond it,
 * ms: records of a partition lie a little out of the order of their receive times (clocks differ),
 * and those of a spool a lot.
 */
export function sweepSlack(dedupeTtl: number): number {
  return Math.max(LEAST_SLACK_MS, dedupeTtl / WINDOW_SHARE);
}

/**
 * Buckets to visit in a turn of `every` ms so that a round over `buckets` takes a sixteenth of the
 * window; from 1 to `most`.
 */
export function visitsPerTurn(options: {
  readonly buckets: number;
  readonly dedupeTtl: number;
  readonly every: number;
  readonly most: number;
}): number {
  const turns = Math.max(1, options.dedupeTtl / WINDOW_SHARE / options.every);
  return Math.min(Math.max(1, Math.ceil(options.buckets / turns)), options.most);
}
