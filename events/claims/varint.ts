/**
 * Unsigned LEB128 over whole numbers up to 2^53 - 1 (shifts would stop at 32 bits; Kafka offsets do
 * not).
 */
export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length += 1;
  return length;
}

/**
 * Returns the position behind the last byte written. Throws RangeError for what is no whole number
 * from 0 to 2^53 - 1.
 */
export function writeVarint(value: number, target: Buffer, at: number): number {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new RangeError(`${value} is not a whole number from 0 to 2^53 - 1`);
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

/** Throws RangeError when the bytes end before the number does. */
export function readVarint(
  source: Buffer,
  at: number,
): { readonly value: number; readonly end: number } {
  let value = 0;
  let scale = 1;
  for (let next = at; ; next += 1) {
    const byte = source[next];
    if (byte === undefined) throw new RangeError('the bytes end inside a number');
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, end: next + 1 };
    scale *= 0x80;
  }
}
