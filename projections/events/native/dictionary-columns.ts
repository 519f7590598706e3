import { Bytes } from './bytes.ts';
import { Dictionary } from './dictionary.ts';
import { FLOAT_BYTES, USUAL_BYTES, type DerivedColumn, type NativeColumn } from './columns.ts';
import type { DatumReader } from './datum-reader.ts';
import { NumberLists } from './number-lists.ts';
import { WordsColumn } from './words-column.ts';

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
  readonly #keys: NumberLists;
  /** Where the entries of the last row begin: most rows have the keys of the row before. */
  #lastRow = 0;
  readonly #values: Bytes;
  readonly #isText: boolean;
  readonly #words: WordsColumn | undefined;
  isUsed = false;

  /** @param hasWords whether those of its strings that are words are a column as well */
  constructor(rows: number, values: 'string' | 'double', hasWords = false) {
    this.#keys = new NumberLists(rows);
    this.#values = new Bytes(rows * USUAL_BYTES);
    this.#isText = values === 'string';
    this.#words = hasWords ? new WordsColumn(rows, this.#dictionary) : undefined;
  }

  add(row: number, datum: DatumReader): void {
    this.isUsed = true;
    this.#endRows(row);
    const first = this.#keys.count;
    for (let left = datum.blockEntries(); left > 0; left = datum.blockEntries())
      for (; left > 0; left--) this.#addEntry(datum, this.#lastRow + this.#keys.count - first);
    this.#lastRow = first;
    this.#endRows(row + 1);
  }

  #addEntry(datum: DatumReader, before: number): void {
    const key = this.#dictionary.read(datum, this.#keys.at(before));
    this.#keys.add(key);
    const size = this.#isText ? datum.length() : FLOAT_BYTES;
    const from = datum.skip(size);
    if (this.#isText) this.#values.string(datum.bytes, from, size);
    else this.#values.copy(datum.bytes, from, size);
    this.#words?.add(key, datum.bytes, from, size);
  }

  #endRows(until: number): void {
    this.#keys.endRows(until);
    this.#words?.endRows(until);
  }

  get derived(): DerivedColumn | undefined {
    return this.#words;
  }

  finish(): Buffer[] {
    return [...this.#dictionary.finishLists(this.#keys), this.#values.finish()];
  }
}
