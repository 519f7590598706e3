/** The kinds of values of a row; of those below DOUBLE a byte 0 is a whole value. */
export const LONG = 0;
export const TEXT = 1;
export const BOOLEAN = 2;
export const MAP_OF_TEXTS = 3;
export const MAP_OF_NUMBERS = 4;
export const DOUBLE = 5;

export const DOUBLE_BYTES = 8;
/** A number of up to 2^53 has at most so many bytes. */
const MAX_LONG_BYTES = 8;
/** The largest number that avsc reads. */
const MAX_LONG = 2 ** 53 - 2;
/** An entry of a map has at least the lengths of its key and its value. */
const MIN_ENTRY_BYTES = 2;
/** Neither is set in the one byte of a length or count of up to 63: more bytes follow, negative. */
const MORE_OR_NEGATIVE = 0x81;

/** Values of which nothing is read: their kinds, in `kinds` from `from` to `to`. */
export interface SkippedValues {
  kinds: Uint8Array;
  from: number;
  to: number;
}

/** Where values end that begin at `start`. Throws RangeError, as everything in this file. */
export function afterValues(
  bytes: Buffer,
  start: number,
  { kinds, from, to }: SkippedValues,
): number {
  let at = start;
  for (let field = from; field < to; field++) {
    const kind = kinds[field];
    const byte = bytes[at];
    if (byte === undefined) return broken();
    if (kind === DOUBLE) at += DOUBLE_BYTES;
    else if (byte === 0 || kind === BOOLEAN) at++;
    else if (kind === TEXT)
      at = (byte & MORE_OR_NEGATIVE) === 0 ? at + 1 + (byte >> 1) : afterText(bytes, at);
    else if (kind === LONG) at = afterLong(bytes, at);
    else at = afterMap(bytes, at, kind === MAP_OF_TEXTS);
  }
  return at <= bytes.length ? at : broken();
}

function afterMap(bytes: Buffer, start: number, isOfTexts: boolean): number {
  let at = start;
  for (;;) {
    const byte = bytes[at];
    if (byte === 0) return at + 1;
    if (byte === undefined) return broken();
    let count = byte >> 1;
    if ((byte & MORE_OR_NEGATIVE) === 0) at++;
    else {
      count = entriesAt(bytes, at);
      at = afterCount(bytes, at);
    }
    for (; count > 0; count--) {
      at = afterText(bytes, at);
      if (isOfTexts) at = afterText(bytes, at);
      else at += DOUBLE_BYTES;
    }
  }
}

/** Where a text ends that has its length before it: perhaps after the end of the bytes. */
export function afterText(bytes: Buffer, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) return broken();
  return (byte & MORE_OR_NEGATIVE) === 0 ? at + 1 + (byte >> 1) : afterLongText(bytes, at);
}

function afterLongText(bytes: Buffer, at: number): number {
  const length = longAt(bytes, at);
  return length >= 0 ? afterLong(bytes, at) + length : broken();
}

/** Where the number ends that begins at `start`. */
export function afterLong(bytes: Buffer, start: number): number {
  for (let at = start; ; at++) {
    const byte = bytes[at];
    if (byte === undefined) return broken();
    if (byte < 0x80) return at + 1;
  }
}

/** Number of entries in the block of a map that begins here; 0: there are no more. */
export function entriesAt(bytes: Buffer, at: number): number {
  const count = Math.abs(longAt(bytes, at));
  return count * MIN_ENTRY_BYTES < bytes.length - at ? count : broken();
}

/**
 * Where the entries of a block of a map begin. A negative count is followed by the bytes of the
 * block, which avsc does not believe when it reads the entries.
 */
export function afterCount(bytes: Buffer, at: number): number {
  const end = afterLong(bytes, at);
  return longAt(bytes, at) < 0 ? afterLong(bytes, end) : end;
}

/** The number that begins here, exact up to 2^53. */
export function longAt(bytes: Buffer, start: number): number {
  // Of the zigzag code the lowest 28 bits, and those above.
  let low = 0;
  let high = 0;
  for (let at = start; at < start + MAX_LONG_BYTES; at++) {
    const byte = bytes[at];
    if (byte === undefined) return broken();
    const shift = 7 * (at - start);
    if (shift < 28) low |= (byte & 0x7f) << shift;
    else high |= (byte & 0x7f) << (shift - 28);
    if (byte >= 0x80) continue;
    const magnitude = high * 2 ** 27 + (low >>> 1);
    const value = (low & 1) === 0 ? magnitude : -magnitude - 1;
    return Math.abs(value) <= MAX_LONG ? value : broken();
  }
  return broken();
}

export function broken(): never {
  throw new RangeError('the bytes end within a value, or have a length or number that cannot be');
}
