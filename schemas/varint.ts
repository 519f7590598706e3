/** A decoded integer, and where the next value begins. */
export interface Varint {
  readonly value: number;
  readonly end: number;
}

/** A varint of a 64-bit integer has at most this many bytes. */
const MAX_BYTES = 10;

/** Bytes of `writeUnsigned`. */
export function unsignedLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length += 1;
  return length;
}

/**
 * Writes an unsigned LEB128 and returns the offset after its last byte. Throws RangeError unless
 * `value` is an integer from 0 to 2^53 - 1.
 */
export function writeUnsigned(value: number, target: Buffer, at: number): number {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RangeError(`${value} is not an integer from 0 to 2^53 - 1`);
  return write(value, target, at);
}

/** Reads an unsigned LEB128. Throws RangeError when the bytes end within it. */
export function readUnsigned(bytes: Buffer, start: number): Varint {
  let value = 0;
  let scale = 1;
  for (let at = start; at < bytes.length && at < start + MAX_BYTES; at += 1) {
    const byte = bytes[at] ?? 0;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, end: at + 1 };
    scale *= 0x80;
  }
  throw new RangeError('the bytes end within a varint');
}

/** The bytes of an Avro int or long (Avro 1.12 specification, "int and long"): a zigzag varint. */
export function writeZigzag(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(MAX_BYTES);
  return bytes.subarray(0, write(value >= 0 ? value * 2 : -value * 2 - 1, bytes, 0));
}

/** Reads an Avro int or long; exact up to 2^53. Throws RangeError at the end of the bytes. */
export function readZigzag(bytes: Buffer, start: number): Varint {
  const { value, end } = readUnsigned(bytes, start);
  return { value: value % 2 === 0 ? value / 2 : -(value + 1) / 2, end };
}

/** Division instead of shifts: shifts stop at 32 bits, Kafka offsets do not. */
function write(value: number, target: Buffer, at: number): number {
  let rest = value;
  let next = at;
  while (rest >= 0x80) {
    target[next] = (rest % 0x80) + 0x80;
    rest = Math.floor(rest / 0x80);
    next += 1;
  }
  target[next] = rest;
  return next + 1;
}
