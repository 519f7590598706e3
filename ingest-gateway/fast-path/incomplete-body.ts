import type { BodyBudget } from '../http/body.ts';

/**
 * A body that arrives in pieces, in one buffer that grows: a client that sends byte by byte would
 * otherwise make a chunk of some hundred bytes of memory of each. The budget counts the buffer.
 */
export class IncompleteBody {
  readonly #length: number;
  readonly #budget: BodyBudget;
  #bytes = Buffer.alloc(0);
  #arrived = 0;

  /** @param length bytes of the complete body */
  constructor(length: number, budget: BodyBudget) {
    this.#length = length;
    this.#budget = budget;
  }

  /** Adds a piece; false when the budget has no room for it. */
  add(piece: Buffer): boolean {
    const arrived = this.#arrived + piece.length;
    if (arrived > this.#bytes.length) {
      const size = Math.min(this.#length, Math.max(arrived, 2 * this.#bytes.length));
      if (!this.#budget.acquire(size - this.#bytes.length)) return false;
      const larger = Buffer.allocUnsafeSlow(size);
      this.#bytes.copy(larger, 0, 0, this.#arrived);
      this.#bytes = larger;
    }
    piece.copy(this.#bytes, this.#arrived);
    this.#arrived = arrived;
    return true;
  }

  /** The complete body; who takes it releases its bytes. */
  bytes(): Buffer {
    return this.#bytes;
  }

  /** Releases what the budget counts. */
  release(): void {
    this.#budget.release(this.#bytes.length);
    this.#bytes = Buffer.alloc(0);
  }
}
