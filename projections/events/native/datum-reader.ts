/** Reads Avro datums from the front. Reading past the end throws RangeError. */
export class DatumReader {
  readonly bytes: Buffer;
  /** Offset of the next value. */
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length;
  }

  /** An int or long (Avro 1.12: a zigzag varint). Throws RangeError beyond ±(2^53 - 1). */
  integer(): number {
    const first = this.bytes[this.at] ?? NOTHING;
    if (first < 0x80) {
      this.at++;
      return (first >>> 1) ^ -(first & 1);
    }
    // Without the lowest bit, which is the sign.
    let half = (first & 0x7f) >>> 1;
    for (let scale = 0x40, at = this.at + 1; scale <= MAX; scale *= 0x80) {
      const byte = this.bytes[at++] ?? NOTHING;
      if (byte === NOTHING) break;
      half += (byte & 0x7f) * scale;
      if (byte >= 0x80) continue;
      if (half > MAX) break;
      this.at = at;
      return (first & 1) === 0 ? half : -half - 1;
    }
    throw new RangeError('the datum ends within a number, or the number exceeds 2^53');
  }

  /** The length of a string: so many bytes follow. */
  length(): number {
    const size = this.integer();
    if (size < 0 || size > this.bytes.length - this.at)
      throw new RangeError('the datum ends within a string');
    return size;
  }

  /** Skips bytes and returns where they begin. */
  skip(size: number): number {
    const from = this.at;
    if (size > this.bytes.length - from) throw new RangeError('the datum ends within a value');
    this.at = from + size;
    return from;
  }

  /** Entries of the next block of a map; 0 is its end. */
  blockEntries(): number {
    const entries = this.integer();
    if (entries >= 0) return entries;
    // A negative number: the size of the block follows.
    this.integer();
    return -entries;
  }
}

/** No byte: the datum ended. */
const NOTHING = 0x100;
const MAX = Number.MAX_SAFE_INTEGER;
