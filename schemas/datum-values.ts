import {
  afterCount,
  afterLong,
  afterText,
  afterValues,
  broken,
  DOUBLE_BYTES,
  entriesAt,
  longAt,
  type SkippedValues,
} from './datum-skip.ts';
import type { Sliceable } from './last-text.ts';
import { RepeatedKeys } from './repeated-keys.ts';
import { RepeatedTexts } from './repeated-texts.ts';

const NOTHING = Buffer.alloc(0);

/**
 * Reads the values of Avro datums one after the other (Avro 1.12, "Binary Encoding"), to what avsc
 * makes of them. Throws RangeError when the bytes end within a value, and for lengths, counts and
 * numbers that cannot be. In a map the last of several entries of a key counts, and `__proto__` is
 * no key.
 */
export class DatumValues {
  #bytes: Buffer = NOTHING;
  #at = 0;
  readonly #repeated = new RepeatedTexts();
  readonly #keys = new RepeatedKeys();
  readonly #double = new Float64Array(1);
  readonly #doubleBytes = new Uint8Array(this.#double.buffer);

  begin(bytes: Buffer, at: number): void {
    this.#bytes = bytes;
    this.#at = at;
  }

  /** Where the next value begins. */
  get at(): number {
    return this.#at;
  }

  skip(values: SkippedValues): void {
    this.#at = afterValues(this.#bytes, this.#at, values);
  }

  long(): number {
    const bytes = this.#bytes;
    const at = this.#at;
    const byte = bytes[at];
    if (byte !== undefined && byte < 0x80) {
      this.#at = at + 1;
      return (byte >> 1) ^ -(byte & 1);
    }
    this.#at = afterLong(bytes, at);
    return longAt(bytes, at);
  }

  boolean(): boolean {
    return (this.#bytes[this.#at++] ?? broken()) !== 0;
  }

  double(): number {
    const bytes = this.#bytes;
    const at = this.#at;
    this.#at = at + DOUBLE_BYTES;
    if (this.#at > bytes.length) broken();
    const into = this.#doubleBytes;
    for (let byte = 0; byte < DOUBLE_BYTES; byte++) into[byte] = bytes[at + byte] ?? 0;
    return this.#double[0] ?? 0;
  }

  text(): string {
    const from = this.#textStart();
    const to = this.#at;
    return from === to ? '' : (this.#bytes as Sliceable).utf8Slice(from, to);
  }

  /** A text that other datums have, too. */
  repeatedText(): string {
    const from = this.#textStart();
    return this.#repeated.text(this.#bytes, from, this.#at);
  }

  texts(): Record<string, string> {
    const map: Record<string, string> = {};
    for (let count = this.#entries(); count > 0; count = this.#entries())
      for (; count > 0; count--) {
        const key = this.repeatedText();
        map[key] = this.text();
      }
    return map;
  }

  numbers(): Record<string, number> {
    const map: Record<string, number> = {};
    for (let count = this.#entries(); count > 0; count = this.#entries())
      for (; count > 0; count--) {
        const key = this.repeatedText();
        map[key] = this.double();
      }
    return map;
  }

  /**
   * The keys of a map in the order of its entries, its values skipped. Mostly the same list for the
   * same keys: do not change it.
   */
  keys(isOfTexts: boolean): readonly string[] {
    const keys = this.#keys;
    keys.begin();
    for (let count = this.#entries(); count > 0; count = this.#entries())
      for (; count > 0; count--) {
        const key = this.repeatedText();
        this.#at = isOfTexts ? afterText(this.#bytes, this.#at) : this.#at + DOUBLE_BYTES;
        if (key !== '__proto__') keys.add(key);
      }
    return keys.list();
  }

  /** Begins a block of a map; returns the number of its entries, 0 at the end of the map. */
  #entries(): number {
    const bytes = this.#bytes;
    const at = this.#at;
    if (bytes[at] === 0) {
      this.#at = at + 1;
      return 0;
    }
    this.#at = afterCount(bytes, at);
    return entriesAt(bytes, at);
  }

  /** Skips a text; returns where it begins. */
  #textStart(): number {
    const bytes = this.#bytes;
    const at = this.#at;
    const end = afterText(bytes, at);
    if (end > bytes.length) broken();
    this.#at = end;
    const byte = bytes[at];
    return byte !== undefined && byte < 0x80 ? at + 1 : afterLong(bytes, at);
  }
}
