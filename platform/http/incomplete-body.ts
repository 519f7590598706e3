/** Bytes of bodies in memory, of one account or of all. */
export interface MemoryBudget {
  /** False when there is no room for so many more bytes. */
  acquire(bytes: number): boolean;
  release(bytes: number): void;
}

/**
 * A body that arrives in pieces, in one buffer that grows: a client that sends byte by byte would
 * otherwise make a chunk of some hundred bytes of memory of each. The budget counts the buffer.
 */
export class IncompleteBody {
  readonly #length: number;
  readonly #budget: MemoryBudget | undefined;
  #bytes = Buffer.alloc(0);
  #arrived = 0;

  /** @param length bytes of the complete body, or its limit */
  constructor(length: number, budget: MemoryBudget | undefined) {
    this.#length = length;
    this.#budget = budget;
  }

  /** Adds a piece; false when the budget has no room for it. */
  add(piece: Buffer): boolean {
    const arrived = this.#arrived + piece.length;
    if (arrived > this.#bytes.length) {
      const size = Math.min(this.#length, Math.max(arrived, 2 * this.#bytes.length));
      if (this.#budget?.acquire(size - this.#bytes.length) === false) return false;
      const larger = Buffer.allocUnsafeSlow(size);
      this.#bytes.copy(larger, 0, 0, this.#arrived);
      this.#bytes = larger;
    }
    piece.copy(this.#bytes, this.#arrived);
    this.#arrived = arrived;
    return true;
  }

  /** What has arrived; who takes it releases its bytes. */
  bytes(): Buffer {
    const unused = this.#bytes.length - this.#arrived;
    if (unused === 0) return this.#bytes;
    const bytes = Buffer.from(this.#bytes.subarray(0, this.#arrived));
    this.#budget?.release(unused);
    return bytes;
  }

  /** Releases what the budget counts. */
  release(): void {
    this.#budget?.release(this.#bytes.length);
    this.#bytes = Buffer.alloc(0);
  }
}
