import { Bytes } from './bytes.ts';
import type { DatumReader } from './datum-reader.ts';
import type { NumberLists } from './number-lists.ts';

/** The distinct strings of a LowCardinality column. The first one is empty. */
export class Dictionary {
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
    const number = this.add(datum.bytes, from, size);
    this.#numbers.set(text, number);
    return number;
  }

  /** Adds a string that is not in it, and answers its number. */
  add(bytes: Buffer, from: number, size: number): number {
    this.#keys.string(bytes, from, size);
    this.#from.push(this.#keys.end - size);
    return this.#size.push(size) - 1;
  }

  /** The bytes of a string of it. */
  bytesOf(number: number): Buffer {
    const from = this.#from[number] ?? 0;
    return this.#keys.all.subarray(from, from + (this.#size[number] ?? 0));
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

  /** A column of lists of strings: where they end, and the strings if there are any. */
  finishLists(lists: NumberLists): Buffer[] {
    const { ends, numbers } = lists.finish();
    return [Dictionary.PREFIX, ends, ...(numbers.length === 0 ? [] : this.finish(numbers))];
  }
}

/** The block has its own keys, and they replace those of blocks before it. */
const OWN_KEYS = 0x600;

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
