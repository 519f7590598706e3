import type { LogPosition } from '../../schemas/log-position.ts';
import { readUnsigned, unsignedLength, writeUnsigned } from '../../schemas/varint.ts';

export function samePosition(a: LogPosition, b: LogPosition): boolean {
  return (
    a.offset === b.offset &&
    a.index === b.index &&
    a.partition === b.partition &&
    a.epoch === b.epoch
  );
}

/**
 * A position is encoded as four varints. The first one is epoch + 1, so the encoding never begins
 * with a zero byte, which marks a pending claim. Varints are self-delimiting: the bytes of one
 * position are a prefix of another's only when both positions are equal. The scripts compare
 * positions that way.
 */
export function positionByteLength(position: LogPosition): number {
  return (
    unsignedLength(position.epoch + 1) +
    unsignedLength(position.partition) +
    unsignedLength(position.offset) +
    unsignedLength(position.index)
  );
}

/** Returns the offset after the last byte written. */
export function writePosition(position: LogPosition, target: Buffer, at: number): number {
  let next = writeUnsigned(position.epoch + 1, target, at);
  next = writeUnsigned(position.partition, target, next);
  next = writeUnsigned(position.offset, target, next);
  return writeUnsigned(position.index, target, next);
}

/** Throws RangeError when the bytes end too early. */
export function readPosition(
  source: Buffer,
  at: number,
): { readonly position: LogPosition; readonly end: number } {
  const epoch = readUnsigned(source, at);
  const partition = readUnsigned(source, epoch.end);
  const offset = readUnsigned(source, partition.end);
  const index = readUnsigned(source, offset.end);
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
