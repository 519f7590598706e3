import type { BatchLimits } from './consumer-types.ts';

/** The limits of a batch are meant for a process with so many partitions. */
const PARTITIONS = 4;
/** A batch is not split further: very small ones cost more than the memory. */
const MIN_BYTES = 256 * 1024;
const MIN_RECORDS = 200;
/** An interval does not grow further, ms. */
const MAX_INTERVAL = 5000;

/**
 * The limits of each partition of a process with `owned` partitions. With many, each has a share of
 * the buffers; and where a batch becomes an insert, the interval grows, so that the process makes
 * as many inserts as before.
 */
export function shareLimits(limits: BatchLimits, owned: number): BatchLimits {
  const factor = owned / PARTITIONS;
  if (factor <= 1) return limits;
  const { records, bytes, interval } = limits;
  return {
    ...limits,
    records: Math.min(records, Math.max(MIN_RECORDS, Math.floor(records / factor))),
    bytes: Math.min(bytes, Math.max(MIN_BYTES, Math.floor(bytes / factor))),
    ...(interval !== undefined && limits.isInsert === true
      ? { interval: Math.max(interval, Math.min(MAX_INTERVAL, interval * factor)) }
      : {}),
  };
}
