const NONE = Buffer.alloc(0);

/** Bytes that grow as values are added; new ones are 0. */
export class Bytes {
  readonly #first: number;
  #bytes = NONE;
  end = 0;

  /** @param first how many are allocated with the first of them */
  constructor(first: number) {
    this.#first = first;
  }

  /** Reserves bytes and returns where they begin. */
  reserve(size: number): number {
    const from = this.end;
    this.end += size;
    if (this.end > this.#bytes.length) {
      const grown = Buffer.alloc(Math.max(this.#first, 2 * this.end));
      this.#bytes.copy(grown, 0, 0, from);
      this.#bytes = grown;
    }
    return from;
  }

  get all(): Buffer {
    return this.#bytes;
  }

  /** Copies bytes; a loop is faster than a call for the few bytes of most values. */
  copy(source: Buffer, from: number, size: number): void {
    let to = this.reserve(size);
    const bytes = this.#bytes;
    if (size > 24) source.copy(bytes, to, from, from + size);
    else for (let at = from; at < from + size; at++) bytes[to++] = source[at] ?? 0;
  }

  /** A string of RowBinary and Native: its length as an unsigned LEB128, then its bytes. */
  string(source: Buffer, from: number, size: number): void {
    let rest = size;
    for (; rest >= 0x80; rest >>>= 7) this.#byte((rest & 0x7f) | 0x80);
    this.#byte(rest);
    this.copy(source, from, size);
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.end);
  }

  #byte(value: number): void {
    const at = this.reserve(1);
    this.#bytes[at] = value;
  }
}
