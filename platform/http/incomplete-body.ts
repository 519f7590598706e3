/** Bytes of bodies in memory, of one account or of all. */
export interface MemoryBudget {
  /** False when there is no room for so many more bytes. */
  acquire(bytes: number): boolean;
  release(bytes: number): void;
}

/** A piece of at least this size is kept as it is; smaller ones are copied together. */
const KEPT_PIECE_BYTES = 16 * 1024;
const BLOCK_BYTES = 64 * 1024;
const EMPTY = Buffer.alloc(0);

/**
 * A body that arrives in pieces. Small pieces are copied into blocks that grow: a client that sends
 * byte by byte would otherwise make a chunk of some hundred bytes of memory of each. Large pieces
 * are kept and copied once, at the end, when the body is complete: one that is refused costs no
 * copy. The budget counts the memory of both.
 */
export class IncompleteBody {
  readonly #length: number;
  readonly #budget: MemoryBudget | undefined;
  readonly #pieces: Buffer[] = [];
  /** The block of the last small pieces, and how much of it is used. */
  #block = EMPTY;
  #used = 0;
  #arrived = 0;
  #acquired = 0;

  /** @param length bytes of the complete body, or its limit */
  constructor(length: number, budget: MemoryBudget | undefined) {
    this.#length = length;
    this.#budget = budget;
  }

  /** Adds a piece, whose memory is this body's from now on; false when the budget has no room. */
  add(piece: Buffer): boolean {
    if (piece.length >= KEPT_PIECE_BYTES) {
      if (!this.#acquire(piece.length)) return false;
      this.#endBlock();
      this.#pieces.push(piece);
    } else if (!this.#copy(piece)) return false;
    this.#arrived += piece.length;
    return true;
  }

  /** What has arrived; who takes it releases its bytes. */
  bytes(): Buffer {
    this.#endBlock();
    const [only = EMPTY] = this.#pieces;
    return this.#pieces.length < 2 ? only : Buffer.concat(this.#pieces, this.#arrived);
  }

  /** Releases what the budget counts. */
  release(): void {
    this.#budget?.release(this.#acquired);
    this.#acquired = 0;
    this.#pieces.length = 0;
    this.#block = EMPTY;
    this.#used = 0;
  }

  #acquire(bytes: number): boolean {
    if (this.#budget?.acquire(bytes) === false) return false;
    this.#acquired += bytes;
    return true;
  }

  #copy(piece: Buffer): boolean {
    const used = this.#used + piece.length;
    if (used > this.#block.length) {
      if (used > BLOCK_BYTES) {
        this.#endBlock();
        return this.#copy(piece);
      }
      const left = this.#length - this.#arrived + this.#used;
      const size = Math.min(Math.max(left, used), BLOCK_BYTES, Math.max(used, 2 * this.#used));
      if (!this.#acquire(size - this.#block.length)) return false;
      const larger = Buffer.allocUnsafeSlow(size);
      this.#block.copy(larger, 0, 0, this.#used);
      this.#block = larger;
    }
    piece.copy(this.#block, this.#used);
    this.#used = used;
    return true;
  }

  /** Keeps what is used of the block as a piece. */
  #endBlock(): void {
    if (this.#used > 0) {
      const unused = this.#block.length - this.#used;
      this.#pieces.push(
        unused === 0 ? this.#block : Buffer.from(this.#block.subarray(0, this.#used)),
      );
      this.#budget?.release(unused);
      this.#acquired -= unused;
    }
    this.#block = EMPTY;
    this.#used = 0;
  }
}
