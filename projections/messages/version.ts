import type { LogPosition } from '../../schemas/log-position.ts';

const PARTITION_BITS = 8n;
const OFFSET_BITS = 40n;

/**
 * The version of a row of `messages`: epoch (16 bits) | offset (40) | partition (8) of its record
 * in messages.outcomes. A later record of a partition has a higher one, also after the log went
 * back.
 */
export function rowVersion({ epoch, offset, partition }: Omit<LogPosition, 'index'>): bigint {
  return (((BigInt(epoch) << OFFSET_BITS) | BigInt(offset)) << PARTITION_BITS) | BigInt(partition);
}

/** SQL of the parts of a version. */
export const VERSION_EPOCH = `bitShiftRight(version, ${OFFSET_BITS + PARTITION_BITS})`;
export const VERSION_PARTITION = `bitAnd(version, ${2n ** PARTITION_BITS - 1n})`;
export const VERSION_OFFSET = `bitAnd(bitShiftRight(version, ${PARTITION_BITS}), ${2n ** OFFSET_BITS - 1n})`;
