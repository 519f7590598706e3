import type { LastText } from '../../schemas/last-text.ts';

/** Writes RowBinary values, growing as needed; types are those of the columns. */
export class RowBinaryWriter {
  #bytes: Buffer;
  #view: DataView;
  #end = 0;

  constructor(capacity = 64 * 1024) {
    this.#bytes = Buffer.allocUnsafe(capacity);
    this.#view = viewOf(this.#bytes);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#end;
  }

  /** Returns a copy of the bytes and resets the writer. */
  finish(): Buffer {
    const bytes = Buffer.from(this.#bytes.subarray(0, this.#end));
    this.#end = 0;
    return bytes;
  }

  /** Returns the bytes as a string of one character per byte and resets the writer. */
  finishLatin1(): string {
    const text = this.#bytes.toString('latin1', 0, this.#end);
    this.#end = 0;
    return text;
  }

  uint8(value: number): void {
    const at = this.#reserve(1);
    this.#bytes[at] = value;
  }

  uint16(value: number): void {
    const at = this.#reserve(2);
    this.#view.setUint16(at, value, true);
  }

  uint32(value: number): void {
    const at = this.#reserve(4);
    this.#view.setUint32(at, value, true);
  }

  /** A whole number from -2^53 to 2^53 as Int64, and as UInt64 when it is not negative. */
  int64(value: number): void {
    const at = this.#reserve(8);
    // Both take the lowest 32 bits of a whole number; a remainder costs ten times as much.
    this.#view.setUint32(at, value, true);
    this.#view.setInt32(at + 4, Math.floor(value / TWO_32), true);
  }

  /** Int128: also Decimal(38, n) as its whole number of smallest parts. */
  int128(value: bigint): void {
    const at = this.#reserve(16);
    if (value === 0n) {
      this.#view.setFloat64(at, 0);
      this.#view.setFloat64(at + 8, 0);
      return;
    }
    this.#view.setBigUint64(at, BigInt.asUintN(64, value), true);
    this.#view.setBigInt64(at + 8, BigInt.asIntN(64, value >> 64n), true);
  }

  float64(value: number): void {
    const at = this.#reserve(8);
    this.#view.setFloat64(at, value, true);
  }

  /** An unsigned LEB128: the length of a string or map. */
  varint(value: number): void {
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.uint8((rest % 128) | 0x80);
    this.uint8(rest);
  }

  string(value: string): void {
    if (value.length < 43) {
      // At most 127 bytes, so the length is one byte.
      const at = this.#reserve(1 + 3 * value.length);
      if (this.#ascii(value, at)) return;
      const written = this.#bytes.write(value, at + 1, 'utf8');
      this.#bytes[at] = written;
      this.#end = at + 1 + written;
      return;
    }
    const size = Buffer.byteLength(value);
    this.varint(size);
    const at = this.#reserve(size);
    this.#bytes.write(value, at, 'utf8');
  }

  /** Returns false when the text is not ASCII. Cheaper than a call into the native encoder. */
  #ascii(value: string, at: number): boolean {
    const bytes = this.#bytes;
    let end = at;
    bytes[end++] = value.length;
    for (let unit = 0; unit < value.length; unit++) {
      const code = value.charCodeAt(unit);
      if (code > 0x7f) return false;
      bytes[end++] = code;
    }
    this.#end = end;
    return true;
  }

  /** Bytes in a string of one character per byte. */
  latin1(bytes: string): void {
    const at = this.#reserve(bytes.length);
    this.#bytes.write(bytes, at, 'latin1');
  }

  /** Reserves 16 bytes that the caller fills. */
  raw16(fill: (bytes: Buffer, at: number) => void): void {
    const at = this.#reserve(16);
    fill(this.#bytes, at);
  }

  /** Reserves `size` bytes and returns their offset. May replace `#bytes`: read that afterwards. */
  #reserve(size: number): number {
    const at = this.#end;
    this.#end += size;
    if (this.#end > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(2 * this.#end);
      this.#bytes.copy(grown, 0, 0, at);
      this.#bytes = grown;
      this.#view = viewOf(grown);
    }
    return at;
  }
}

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}

/** Reads RowBinary of ClickHouse. Reading past the end throws RangeError. */
export class RowBinaryReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at = 0;

  /** @param end end of the data in `bytes` */
  constructor(bytes: Buffer, end = bytes.length) {
    this.#bytes = bytes;
    this.#end = end;
  }

  get position(): number {
    return this.#at;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  uint8(): number {
    return this.#bytes.readUInt8(this.#skip(1));
  }

  uint16(): number {
    return this.#bytes.readUInt16LE(this.#skip(2));
  }

  uint32(): number {
    return this.#bytes.readUInt32LE(this.#skip(4));
  }

  /** Exact up to 2^53. */
  int64(): number {
    const at = this.#skip(8);
    return this.#bytes.readUInt32LE(at) + this.#bytes.readInt32LE(at + 4) * TWO_32;
  }

  int128(): bigint {
    if (this.isZero(16)) {
      this.#at += 16;
      return 0n;
    }
    const at = this.#skip(16);
    const [low, high] = [this.#bytes.readBigUInt64LE(at), this.#bytes.readBigInt64LE(at + 8)];
    return high === 0n ? low : low + (high << 64n);
  }

  float64(): number {
    return this.#bytes.readDoubleLE(this.#skip(8));
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.uint8();
      value += (byte & 0x7f) * scale;
      if (byte < 128) return value;
    }
  }

  /** @param last of the reader's caller: the same text again is the same string */
  string(last?: LastText): string {
    const size = this.varint();
    if (size === 0) return '';
    const at = this.#skip(size);
    return last
      ? last.text(this.#bytes, at, at + size)
      : this.#bytes.toString('utf8', at, at + size);
  }

  /** Whether the next bytes are there and all of them 0. */
  isZero(size: number): boolean {
    const end = this.#at + size;
    if (end > this.#end) return false;
    for (let at = this.#at; at < end; at++) if (this.#bytes[at] !== 0) return false;
    return true;
  }

  /** Skips bytes. */
  skip(size: number): void {
    this.#skip(size);
  }

  /** Bytes `from` to `to` as a string of one character per byte. */
  latin1(from: number, to: number): string {
    return this.#bytes.toString('latin1', from, to);
  }

  raw16<T>(read: (bytes: Buffer, at: number) => T): T {
    return read(this.#bytes, this.#skip(16));
  }

  #skip(size: number): number {
    const at = this.#at;
    this.#at += size;
    if (this.#at > this.#end) throw new RangeError('the data ends within a value');
    return at;
  }
}

const TWO_32 = 2 ** 32;
