import { Bytes } from './bytes.ts';
import { Dictionary } from './dictionary.ts';
import { FLOAT_BYTES, USUAL_BYTES, type DerivedColumn, type NativeColumn } from './columns.ts';
import type { DatumReader } from './datum-reader.ts';
import type { WordsColumn } from './words-column.ts';

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
  readonly #words: WordsColumn | undefined;
  isUsed = false;

  /** @param words gets the entries whose value is a word */
  constructor(rows: number, values: 'string' | 'double', words?: WordsColumn) {
    this.#words = words;
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
    this.#words?.endRow(row);
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
    if (this.#isText) {
      this.#values.string(datum.bytes, from, size);
      this.#words?.add({ names: this.#dictionary, name: key }, datum.bytes, from, size);
    } else this.#values.copy(datum.bytes, from, size);
  }

  #endRows(until: number): void {
    for (; this.#next < until; this.#next++) this.#ends[2 * this.#next] = this.#entries;
  }

  get derived(): DerivedColumn | undefined {
    return this.#words;
  }

  finish(): Buffer[] {
    this.#endRows(this.#rows);
    const keys =
      this.#entries === 0 ? [] : this.#dictionary.finish(this.#keys.slice(0, this.#entries));
    return [Dictionary.PREFIX, Buffer.from(this.#ends.buffer), ...keys, this.#values.finish()];
  }
}
