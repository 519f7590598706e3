const POLYNOMIAL = 0x82f63b78;
const SLICES = 8;

/** TABLES[k * 256 + b]: the CRC of byte b followed by k zero bytes (slicing by 8). */
const TABLES = makeTables();

function makeTables(): Int32Array {
  const tables = new Int32Array(SLICES * 256);
  for (let byte = 0; byte < 256; byte++) {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? POLYNOMIAL : 0);
    tables[byte] = value;
  }
  for (let at = 256; at < tables.length; at++) {
    const shorter = tables[at - 256] ?? 0;
    tables[at] = (shorter >>> 8) ^ (tables[shorter & 0xff] ?? 0);
  }
  return tables;
}

/**
 * CRC-32C (Castagnoli) as an unsigned 32-bit number, the checksum of spool frames and Kafka record
 * batches. Node's zlib.crc32 is the other polynomial, which detects fewer errors at these lengths.
 * @param previous the CRC of the bytes before these, to check several buffers as one
 */
export function crc32c(bytes: Uint8Array, previous = 0): number {
  const table = TABLES;
  const length = bytes.length;
  const whole = length - (length % SLICES);
  let crc = ~previous;
  let at = 0;
  /* eslint-disable @typescript-eslint/no-non-null-assertion -- every index is below the length; a fallback in this loop halves its speed */
  for (; at < whole; at += SLICES) {
    const low =
      crc ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
    crc =
      table[1792 + (low & 0xff)]! ^
      table[1536 + ((low >>> 8) & 0xff)]! ^
      table[1280 + ((low >>> 16) & 0xff)]! ^
      table[1024 + (low >>> 24)]! ^
      table[768 + bytes[at + 4]!]! ^
      table[512 + bytes[at + 5]!]! ^
      table[256 + bytes[at + 6]!]! ^
      table[bytes[at + 7]!]!;
  }
  for (; at < length; at++) crc = (crc >>> 8) ^ table[(crc ^ bytes[at]!) & 0xff]!;
  /* eslint-enable @typescript-eslint/no-non-null-assertion */
  return ~crc >>> 0;
}
