import { isWordByte, MAX_WORD_BYTES, WORD_SEPARATOR } from '../../../events/property-words.ts';
import type { DerivedColumn } from './columns.ts';
import { Dictionary } from './dictionary.ts';

const SEPARATOR = Buffer.from(WORD_SEPARATOR);

/** Properties whose value is a word (events/property-words.ts), as arrays of their dictionary. */
export class WordsColumn implements DerivedColumn {
  readonly name = '_property_words';
  readonly type = 'Array(LowCardinality(String))';
  readonly #dictionary = new Dictionary();
  /** By the number of the property's name: the numbers of its words, by their bytes as Latin-1. */
  readonly #known: Map<string, number>[] = [];
  /** Number of words up to the end of each row, as 64 bits of which the lower 32 are used. */
  readonly #ends: Uint32Array<ArrayBuffer>;
  readonly #rows: number;
  #next = 0;
  #words = new Uint32Array(1024);
  #count = 0;

  constructor(rows: number) {
    this.#ends = new Uint32Array(2 * rows);
    this.#rows = rows;
  }

  /** Adds a property of the next row, if its value is a word. `names` has its name as `name`. */
  add(
    { names, name }: { names: Dictionary; name: number },
    bytes: Buffer,
    from: number,
    size: number,
  ): void {
    if (size === 0 || size > MAX_WORD_BYTES) return;
    for (let at = from; at < from + size; at++) if (!isWordByte(bytes[at] ?? 0)) return;
    const known = (this.#known[name] ??= new Map<string, number>());
    const text = bytes.toString('latin1', from, from + size);
    let word = known.get(text);
    if (word === undefined) {
      const parts = [names.bytesOf(name), SEPARATOR, bytes.subarray(from, from + size)];
      const joined = Buffer.concat(parts);
      word = this.#dictionary.add(joined, 0, joined.length);
      known.set(text, word);
    }
    if (this.#count === this.#words.length) {
      const grown = new Uint32Array(2 * this.#count);
      grown.set(this.#words);
      this.#words = grown;
    }
    this.#words[this.#count++] = word;
  }

  /** What follows belongs to later rows. */
  endRow(row: number): void {
    for (; this.#next < row; this.#next++)
      this.#ends[2 * this.#next] = this.#ends[2 * this.#next - 2] ?? 0;
    this.#ends[2 * this.#next++] = this.#count;
  }

  finish(): Buffer[] {
    if (this.#next < this.#rows) this.endRow(this.#rows - 1);
    const words =
      this.#count === 0 ? [] : this.#dictionary.finish(this.#words.slice(0, this.#count));
    return [Dictionary.PREFIX, Buffer.from(this.#ends.buffer), ...words];
  }
}
