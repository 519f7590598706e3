import type { LogPosition } from '../../schemas/log-position.ts';
import { readVarint, varintLength, writeVarint } from './varint.ts';

export function samePosition(a: LogPosition, b: LogPosition): boolean {
  return (
    a.offset === b.offset &&
    a.index === b.index &&
    a.partition === b.partition &&
    a.epoch === b.epoch
  );
}

/**
 * A place is four varints; the first is epoch + 1, so a place never begins with a zero byte (which
 * marks a pending claim). Varints end by themselves: one place's bytes are a prefix of another's
 * only when the two are the same position. The scripts compare places that way.
 */
export function positionByteLength(position: LogPosition): number {
  return (
    varintLength(position.epoch + 1) +
    varintLength(position.partition) +
    varintLength(position.offset) +
    varintLength(position.index)
  );
}

/** Returns the position behind the position. */
export function writePosition(position: LogPosition, target: Buffer, at: number): number {
  let next = writeVarint(position.epoch + 1, target, at);
  next = writeVarint(position.partition, target, next);
  next = writeVarint(position.offset, target, next);
  return writeVarint(position.index, target, next);
}

/** Throws RangeError when the bytes end too early. */
export function readPosition(
  source: Buffer,
  at: number,
): { readonly position: LogPosition; readonly end: number } {
  const epoch = readVarint(source, at);
  const partition = readVarint(source, epoch.end);
  const offset = readVarint(source, partition.end);
  const index = readVarint(source, offset.end);
  return {
    position: {
      epoch: epoch.value - 1,
      partition: partition.value,
      offset: offset.value,
      index: index.value,
    },
    end: index.end,
  };
}
