import { Bytes } from './bytes.ts';
import type { DatumReader } from './datum-reader.ts';

/**
 * The values of one column of a block in ClickHouse's Native format. Rows whose value is the
 * default of the type are not added: what is not there when the next value is added, or when the
 * column is finished, is the default.
 */
export interface NativeColumn {
  /** Whether a row has another value than the default. */
  readonly isUsed: boolean;
  /** Adds the value of a row from its Avro datum. Rows come in order, each at most once. */
  add(row: number, datum: DatumReader): void;
  /** The column's data, of all its rows. */
  finish(): Buffer[];
  /** A column that follows from this one's values; it is inserted where this one is. */
  readonly derived?: DerivedColumn | undefined;
}

export interface DerivedColumn {
  readonly name: string;
  readonly type: string;
  finish(): Buffer[];
}

const TWO_32 = 2 ** 32;

/** Whole numbers of a width in bytes; larger ones lose their highest bytes, as in a cast. */
export class IntegerColumn implements NativeColumn {
  readonly #bytes: Bytes;
  readonly #rows: number;
  readonly #width: number;
  isUsed = false;

  constructor(rows: number, width: 2 | 4 | 8) {
    this.#bytes = new Bytes(rows * width);
    this.#rows = rows;
    this.#width = width;
  }

  add(row: number, datum: DatumReader): void {
    if (!this.isUsed) this.#bytes.reserve(this.#rows * this.#width);
    this.isUsed = true;
    const value = datum.integer();
    const bytes = this.#bytes.all;
    const width = this.#width;
    let at = row * width;
    bytes[at++] = value;
    bytes[at++] = value >> 8;
    if (width === 2) return;
    bytes[at++] = value >> 16;
    bytes[at++] = value >> 24;
    if (width === 4) return;
    const high = Math.floor(value / TWO_32);
    bytes[at++] = high;
    bytes[at++] = high >> 8;
    bytes[at++] = high >> 16;
    bytes[at] = high >> 24;
  }

  finish(): Buffer[] {
    this.#bytes.reserve(this.#rows * this.#width - this.#bytes.end);
    return [this.#bytes.finish()];
  }
}

export class BoolColumn implements NativeColumn {
  readonly #bytes: Buffer;
  isUsed = false;

  constructor(rows: number) {
    this.#bytes = Buffer.alloc(rows);
  }

  add(row: number, datum: DatumReader): void {
    this.isUsed = true;
    this.#bytes[row] = datum.bytes[datum.skip(1)] === 0 ? 0 : 1;
  }

  finish(): Buffer[] {
    return [this.#bytes];
  }
}

export const FLOAT_BYTES = 8;

export class FloatColumn implements NativeColumn {
  readonly #bytes: Bytes;
  readonly #rows: number;
  isUsed = false;

  constructor(rows: number) {
    this.#bytes = new Bytes(rows * FLOAT_BYTES);
    this.#rows = rows;
  }

  add(row: number, datum: DatumReader): void {
    const from = datum.skip(FLOAT_BYTES);
    const { bytes } = datum;
    let isZero = true;
    for (let at = from; at < from + FLOAT_BYTES; at++) if (bytes[at] !== 0) isZero = false;
    if (isZero) return;
    this.isUsed = true;
    this.#bytes.reserve(row * FLOAT_BYTES - this.#bytes.end);
    this.#bytes.copy(bytes, from, FLOAT_BYTES);
  }

  finish(): Buffer[] {
    this.#bytes.reserve(this.#rows * FLOAT_BYTES - this.#bytes.end);
    return [this.#bytes.finish()];
  }
}

/** Of most strings, with their length. */
export const USUAL_BYTES = 24;

export class StringColumn implements NativeColumn {
  readonly #bytes: Bytes;
  readonly #rows: number;
  #next = 0;
  isUsed = false;

  constructor(rows: number) {
    this.#bytes = new Bytes(rows * USUAL_BYTES);
    this.#rows = rows;
  }

  add(row: number, datum: DatumReader): void {
    this.isUsed = true;
    // An empty string is one byte, 0.
    this.#bytes.reserve(row - this.#next);
    this.#next = row + 1;
    const size = datum.length();
    this.#bytes.string(datum.bytes, datum.skip(size), size);
  }

  finish(): Buffer[] {
    this.#bytes.reserve(this.#rows - this.#next);
    return [this.#bytes.finish()];
  }
}

/** Of fields that ClickHouse `events` lacks. */
export class IgnoredColumn implements NativeColumn {
  readonly #isText: boolean;
  readonly isUsed = false;

  constructor(values: 'string' | 'double') {
    this.#isText = values === 'string';
  }

  add(_row: number, datum: DatumReader): void {
    for (let left = datum.blockEntries(); left > 0; left = datum.blockEntries())
      for (; left > 0; left--) {
        datum.skip(datum.length());
        datum.skip(this.#isText ? datum.length() : FLOAT_BYTES);
      }
  }

  finish(): Buffer[] {
    return [];
  }
}
