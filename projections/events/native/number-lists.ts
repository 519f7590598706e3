/** Lists of numbers, one for each row of a block. Rows are ended in order, and may have none. */
export class NumberLists {
  /** Numbers up to the end of each row: 64 bits, of which the lower 32 are used. */
  readonly #ends: Uint32Array<ArrayBuffer>;
  readonly #rows: number;
  #next = 0;
  #numbers = new Uint32Array(1024);
  count = 0;

  constructor(rows: number) {
    this.#ends = new Uint32Array(2 * rows);
    this.#rows = rows;
  }

  /** A number of any row; 0 where there is none. */
  at(place: number): number {
    return this.#numbers[place] ?? 0;
  }

  /** Adds a number to the row that is next to be ended. */
  add(number: number): void {
    if (this.count === this.#numbers.length) {
      const grown = new Uint32Array(2 * this.count);
      grown.set(this.#numbers);
      this.#numbers = grown;
    }
    this.#numbers[this.count++] = number;
  }

  /** Ends the rows before this one. */
  endRows(until: number): void {
    for (; this.#next < until; this.#next++) this.#ends[2 * this.#next] = this.count;
  }

  finish(): { ends: Buffer; numbers: Uint32Array } {
    this.endRows(this.#rows);
    return { ends: Buffer.from(this.#ends.buffer), numbers: this.#numbers.slice(0, this.count) };
  }
}
