import type { BatchLimits } from './consumer-types.ts';

/** The limits of a batch are meant for a process with so many partitions. */
const PARTITIONS = 4;
/** A batch is not split further: very small ones cost more than the memory. */
const MIN_BYTES = 256 * 1024;
const MIN_RECORDS = 200;
/** The interval of inserts does not grow further, ms. */
const MAX_INSERT_INTERVAL = 5000;

/**
 * The limits of each partition of a process with `owned` partitions. With many, each has a share of
 * the buffers; and its interval grows up to `maxInterval`, so that the process begins as many
 * batches a second as before: whatever a batch holds, its commit, its statements and the records
 * that it publishes cost servers and later consumers.
 */
export function shareLimits(limits: BatchLimits, owned: number): BatchLimits {
  const factor = owned / PARTITIONS;
  if (factor <= 1) return limits;
  const { records, bytes, interval, intervalPartitions = PARTITIONS } = limits;
  const most = limits.maxInterval ?? (limits.isInsert ? MAX_INSERT_INTERVAL : undefined);
  return {
    ...limits,
    records: Math.min(records, Math.max(MIN_RECORDS, Math.floor(records / factor))),
    bytes: Math.min(bytes, Math.max(MIN_BYTES, Math.floor(bytes / factor))),
    ...(interval === undefined || most === undefined
      ? {}
      : { interval: Math.max(interval, Math.min(most, (interval * owned) / intervalPartitions)) }),
  };
}
