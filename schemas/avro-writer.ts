const SMALL = 2 ** 30;
const LOW = 2 ** 27;
/** Up to this length ASCII is written byte by byte: cheaper than a call into the native encoder. */
const SHORT = 24;
/** Up to this length bytes are copied one by one. */
const COPIED_IN_LOOP = 48;

/** Node's native UTF-8 encoder, without the argument checks of Buffer.write. */
type Utf8Buffer = Buffer & { utf8Write(text: string, offset: number): number };

/** A range of encoded bytes; invalid after the writer is truncated. */
export interface EncodedRange {
  from: number;
  to: number;
  generation: number;
}

/** Appends Avro datums to a growing buffer (Avro 1.12, "Binary Encoding"). */
export class AvroWriter {
  #buffer: Utf8Buffer;
  readonly #double = new Float64Array(1);
  readonly #doubleBytes = new Uint8Array(this.#double.buffer);
  #end = 0;
  #generation = 0;

  constructor(size: number) {
    this.#buffer = allocate(size);
  }

  /** Offset of the next byte. */
  get end(): number {
    return this.#end;
  }

  /** A view, valid until the next write. */
  bytes(from: number, to: number): Buffer {
    return this.#buffer.subarray(from, to);
  }

  /** All bytes, at their offsets: those before `end` stay as they are until they are discarded. */
  get buffer(): Buffer {
    return this.#buffer;
  }

  /** Discards the bytes from `end` on. */
  truncate(end: number): void {
    this.#end = end;
    this.#generation++;
  }

  /** Discards the bytes before `from`; the rest moves to the start. */
  shift(from: number): void {
    this.#buffer.copyWithin(0, from, this.#end);
    this.truncate(this.#end - from);
  }

  /** Discards everything, and replaces the buffer when a large datum made it grow above `size`. */
  reset(size: number): void {
    this.truncate(0);
    if (this.#buffer.length > size) this.#buffer = allocate(size);
  }

  /** The bytes written since `from`, for `copyRange`. */
  rangeFrom(from: number): EncodedRange {
    return { from, to: this.#end, generation: this.#generation };
  }

  /** Appends a copy of the range; false when the range is invalid. */
  copyRange({ from, to, generation }: EncodedRange): boolean {
    if (generation !== this.#generation) return false;
    this.#reserve(to - from);
    this.#buffer.copyWithin(this.#end, from, to);
    this.#end += to - from;
    return true;
  }

  /** Appends bytes that are encoded already. */
  raw(bytes: Buffer, from: number, to: number): void {
    this.#reserve(to - from);
    bytes.copy(this.#buffer, this.#end, from, to);
    this.#end += to - from;
  }

  /** Throws RangeError unless `value` is a safe integer. */
  long(value: number): void {
    if (!Number.isSafeInteger(value))
      throw new RangeError(`${value} is no whole number that can be kept exactly`);
    this.#reserve(10);
    const buffer = this.#buffer;
    let rest: number;
    if (value >= -SMALL && value < SMALL) rest = (value << 1) ^ (value >> 31);
    else {
      // Zigzag in two steps, the lowest 28 bits first: shifts are limited to 32 bits.
      const magnitude = value >= 0 ? value : -value - 1;
      rest = Math.floor(magnitude / LOW);
      const low = (magnitude - rest * LOW) * 2 + (value < 0 ? 1 : 0);
      buffer[this.#end++] = (low & 0x7f) | 0x80;
      buffer[this.#end++] = ((low >> 7) & 0x7f) | 0x80;
      buffer[this.#end++] = ((low >> 14) & 0x7f) | 0x80;
      buffer[this.#end++] = (low >> 21) | 0x80;
    }
    while (rest > 0x7f) {
      buffer[this.#end++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    buffer[this.#end++] = rest;
  }

  boolean(value: boolean): void {
    this.#reserve(1);
    this.#buffer[this.#end++] = value ? 1 : 0;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#double[0] = value;
    const bytes = this.#doubleBytes;
    const buffer = this.#buffer;
    let at = this.#end;
    // A loop over so few bytes costs less than the call of `set`.
    for (let byte = 0; byte < 8; byte++) buffer[at++] = bytes[byte] ?? 0;
    this.#end = at;
  }

  /** A lone surrogate is written as U+FFFD. */
  string(text: string): void {
    const { length } = text;
    this.#reserve(3 * length + 5);
    if (length <= SHORT && this.#ascii(text)) return;
    // The byte length precedes the text. When the size of the length itself is certain, the text is
    // written first and its length afterwards, which saves a pass over the text.
    const lead = length * 3 < 64 ? 1 : length >= 64 && length * 3 < 8192 ? 2 : 0;
    if (lead === 0) {
      this.long(Buffer.byteLength(text, 'utf8'));
      this.#end += this.#buffer.utf8Write(text, this.#end);
      return;
    }
    const bytes = this.#buffer.utf8Write(text, this.#end + lead);
    if (lead === 1) this.#buffer[this.#end] = bytes << 1;
    else {
      this.#buffer[this.#end] = ((bytes << 1) & 0x7f) | 0x80;
      this.#buffer[this.#end + 1] = bytes >> 6;
    }
    this.#end += lead + bytes;
  }

  /** A string whose UTF-8 is in `bytes` from `from` to `to`. */
  encodedString(bytes: Uint8Array, from: number, to: number): void {
    const length = to - from;
    this.long(length);
    this.#reserve(length);
    const buffer = this.#buffer;
    let end = this.#end;
    if (length <= COPIED_IN_LOOP) for (let at = from; at < to; at++) buffer[end++] = bytes[at] ?? 0;
    else end += (bytes as Buffer).copy(buffer, end, from, to);
    this.#end = end;
  }

  /** Reserves one byte and returns its offset, for `setByte`. */
  reserveByte(): number {
    this.#reserve(1);
    return this.#end++;
  }

  setByte(at: number, value: number): void {
    this.#buffer[at] = value;
  }

  texts(map: Readonly<Record<string, string>>): void {
    const keys = Object.keys(map);
    if (keys.length > 0) this.long(keys.length);
    for (const key of keys) {
      this.string(key);
      this.string(map[key] ?? '');
    }
    this.long(0);
  }

  numbers(map: Readonly<Record<string, number>>): void {
    const keys = Object.keys(map);
    if (keys.length > 0) this.long(keys.length);
    for (const key of keys) {
      this.string(key);
      this.double(map[key] ?? 0);
    }
    this.long(0);
  }

  /** Returns false, and writes nothing, when the text is not ASCII. */
  #ascii(text: string): boolean {
    const buffer = this.#buffer;
    let at = this.#end;
    buffer[at++] = text.length << 1;
    for (let unit = 0; unit < text.length; unit++) {
      const code = text.charCodeAt(unit);
      if (code > 0x7f) return false;
      buffer[at++] = code;
    }
    this.#end = at;
    return true;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return;
    const larger = allocate(Math.max(2 * this.#buffer.length, this.#end + bytes));
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }
}

function allocate(size: number): Utf8Buffer {
  return Buffer.allocUnsafeSlow(size) as Utf8Buffer;
}
