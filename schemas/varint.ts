/**
 * A decoded Avro int or long, and where the next one begins. Values above 2^53 lose precision;
 * Ravand writes none.
 */
export interface Varint {
  value: number;
  end: number;
}

/**
 * Reads a zigzag varint (Avro 1.12 specification, "int and long"). Throws RangeError when the bytes
 * end early.
 */
export function readVarint(bytes: Buffer, start: number): Varint {
  let value = 0;
  let scale = 1;
  for (let at = start; at < bytes.length && at < start + 10; at++) {
    const byte = bytes[at] ?? 0;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value: value % 2 === 0 ? value / 2 : -(value + 1) / 2, end: at + 1 };
    scale *= 128;
  }
  throw new RangeError('the bytes end within a varint');
}

/** Writes a zigzag varint. */
export function writeVarint(value: number): Buffer {
  let rest = value >= 0 ? value * 2 : -value * 2 - 1;
  const bytes: number[] = [];
  while (rest >= 128) {
    bytes.push((rest % 128) | 0x80);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
