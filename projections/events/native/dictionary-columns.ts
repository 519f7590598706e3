import { Bytes } from './bytes.ts';
import { FLOAT_BYTES, USUAL_BYTES, type NativeColumn } from './columns.ts';
import type { DatumReader } from './datum-reader.ts';

/** The distinct strings of a LowCardinality column. The first one is empty. */
class Dictionary {
  readonly #keys = new Bytes(512);
  /** Where the bytes of each key begin and how many there are. */
  readonly #from = [1];
  readonly #size = [0];
  readonly #numbers = new Map<string, number>([['', 0]]);

  constructor() {
    this.#keys.reserve(1);
  }

  /** The number of the string that is next in a datum. `guess` is the one that it probably has. */
  read(datum: DatumReader, guess: number): number {
    const size = datum.length();
    const from = datum.skip(size);
    if (this.#is(guess, datum.bytes, from, size)) return guess;
    const text = datum.bytes.toString('latin1', from, from + size);
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#size.length;
    this.#numbers.set(text, number);
    this.#keys.string(datum.bytes, from, size);
    this.#from.push(this.#keys.end - size);
    this.#size.push(size);
    return number;
  }

  #is(number: number, bytes: Buffer, from: number, size: number): boolean {
    if (this.#size[number] !== size) return false;
    const keys = this.#keys.all;
    const start = this.#from[number] ?? 0;
    for (let at = 0; at < size; at++) if (keys[start + at] !== bytes[from + at]) return false;
    return true;
  }

  /** What precedes the data of a column: that each block brings its own dictionary. */
  static readonly PREFIX = uint64(1);

  /** The keys and the numbers of the values. */
  finish(numbers: Uint32Array): Buffer[] {
    const width = this.#size.length <= 0x100 ? 0 : this.#size.length <= 0x10000 ? 1 : 2;
    const Width = [Uint8Array, Uint16Array, Uint32Array][width] ?? Uint32Array;
    const { buffer } = Width.from(numbers);
    const head = uint64(OWN_KEYS + width);
    const count = uint64(numbers.length);
    return [head, uint64(this.#size.length), this.#keys.finish(), count, Buffer.from(buffer)];
  }
}

/** The block has its own keys, and they replace those of blocks before it. */
const OWN_KEYS = 0x600;

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

export class LowCardinalityColumn implements NativeColumn {
  readonly #dictionary = new Dictionary();
  readonly #numbers: Uint32Array<ArrayBuffer>;
  #last = 0;
  isUsed = false;

  constructor(rows: number) {
    this.#numbers = new Uint32Array(rows);
  }

  add(row: number, datum: DatumReader): void {
    this.isUsed = true;
    this.#last = this.#numbers[row] = this.#dictionary.read(datum, this.#last);
  }

  finish(): Buffer[] {
    return [Dictionary.PREFIX, ...this.#dictionary.finish(this.#numbers)];
  }
}

/** A map of LowCardinality(String) to strings or doubles. */
export class MapColumn implements NativeColumn {
  readonly #dictionary = new Dictionary();
  /** Number of entries up to the end of each row, as 64 bits of which the lower 32 are used. */
  readonly #ends: Uint32Array<ArrayBuffer>;
  readonly #rows: number;
  #next = 0;
  #keys = new Uint32Array(1024);
  #entries = 0;
  /** Where the entries of the last row begin: most rows have the keys of the row before. */
  #lastRow = 0;
  readonly #values: Bytes;
  readonly #isText: boolean;
  isUsed = false;

  constructor(rows: number, values: 'string' | 'double') {
    this.#ends = new Uint32Array(2 * rows);
    this.#rows = rows;
    this.#values = new Bytes(rows * USUAL_BYTES);
    this.#isText = values === 'string';
  }

  add(row: number, datum: DatumReader): void {
    this.isUsed = true;
    this.#endRows(row);
    const first = this.#entries;
    for (let left = datum.blockEntries(); left > 0; left = datum.blockEntries())
      for (; left > 0; left--) this.#addEntry(datum, this.#lastRow + this.#entries - first);
    this.#lastRow = first;
    this.#endRows(row + 1);
  }

  #addEntry(datum: DatumReader, before: number): void {
    if (this.#entries === this.#keys.length) {
      const grown = new Uint32Array(2 * this.#entries);
      grown.set(this.#keys);
      this.#keys = grown;
    }
    const key = this.#dictionary.read(datum, this.#keys[before] ?? 0);
    this.#keys[this.#entries++] = key;
    const size = this.#isText ? datum.length() : FLOAT_BYTES;
    const from = datum.skip(size);
    if (this.#isText) this.#values.string(datum.bytes, from, size);
    else this.#values.copy(datum.bytes, from, size);
  }

  #endRows(until: number): void {
    for (; this.#next < until; this.#next++) this.#ends[2 * this.#next] = this.#entries;
  }

  finish(): Buffer[] {
    this.#endRows(this.#rows);
    const keys =
      this.#entries === 0 ? [] : this.#dictionary.finish(this.#keys.slice(0, this.#entries));
    return [Dictionary.PREFIX, Buffer.from(this.#ends.buffer), ...keys, this.#values.finish()];
  }
}
