/**
 * Position of an event in the raw log (topic `events.raw`). It identifies the event everywhere:
 * consumers skip positions they have already processed.
 */
export interface LogPosition {
  /** Epoch of the partition at the offset (platform/log/epochs.ts). */
  epoch: number;
  partition: number;
  offset: number;
  /** Index of the event in its raw record. */
  index: number;
}

/** A position within one partition: how far that partition has been processed. */
export type PartitionPosition = Omit<LogPosition, 'partition'>;

/** Before the first event of a partition. */
export const BEFORE_FIRST: PartitionPosition = { epoch: -1, offset: -1, index: -1 };

/** Negative when `a` comes before `b`, 0 when they are the same position. */
export function comparePartitionPositions(a: PartitionPosition, b: PartitionPosition): number {
  return a.epoch - b.epoch || a.offset - b.offset || a.index - b.index;
}

/** The position as a key of maps and sets. */
export function partitionPositionKey({ epoch, offset, index }: PartitionPosition): string {
  return `${epoch}:${offset}:${index}`;
}

/** A position within one partition and one epoch. */
export type EventOffset = Omit<PartitionPosition, 'epoch'>;

/** Above the index of every event in a record: a request cannot hold as many events. */
export const LAST_INDEX = 0xffff;

/** Negative when `a` comes before `b`, 0 when they are the same. */
export function compareEventOffsets(a: EventOffset, b: EventOffset): number {
  return a.offset - b.offset || a.index - b.index;
}

/** The offset and index as a key of maps and sets. */
export function eventOffsetKey({ offset, index }: EventOffset): string {
  return `${offset}/${index}`;
}
