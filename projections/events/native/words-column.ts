import { isWordByte, MAX_WORD_BYTES, WORD_SEPARATOR } from '../../../events/property-words.ts';
import type { DerivedColumn } from './columns.ts';
import { Dictionary } from './dictionary.ts';
import { NumberLists } from './number-lists.ts';

const SEPARATOR = Buffer.from(WORD_SEPARATOR);

/** Properties whose value is a word (events/property-words.ts), as arrays of their dictionary. */
export class WordsColumn implements DerivedColumn {
  readonly name = '_property_words';
  readonly type = 'Array(LowCardinality(String))';
  readonly #names: Dictionary;
  readonly #dictionary = new Dictionary();
  /** By the number of the property's name: the numbers of its words, by their bytes as Latin-1. */
  readonly #known: Map<string, number>[] = [];
  readonly #words: NumberLists;

  /** @param names of properties */
  constructor(rows: number, names: Dictionary) {
    this.#words = new NumberLists(rows);
    this.#names = names;
  }

  /** Adds a property with this number of its name, if its value is a word. */
  add(name: number, bytes: Buffer, from: number, size: number): void {
    if (size === 0 || size > MAX_WORD_BYTES) return;
    for (let at = from; at < from + size; at++) if (!isWordByte(bytes[at] ?? 0)) return;
    const known = (this.#known[name] ??= new Map<string, number>());
    const text = bytes.toString('latin1', from, from + size);
    let word = known.get(text);
    if (word === undefined) {
      const parts = [this.#names.bytesOf(name), SEPARATOR, bytes.subarray(from, from + size)];
      const joined = Buffer.concat(parts);
      word = this.#dictionary.add(joined, 0, joined.length);
      known.set(text, word);
    }
    this.#words.add(word);
  }

  /** Ends the rows before this one. */
  endRows(until: number): void {
    this.#words.endRows(until);
  }

  finish(): Buffer[] {
    return this.#dictionary.finishLists(this.#words);
  }
}
