import type { VisitorHash } from '../../events/channels/onsite/visitor.ts';
import type { Halves } from './name-index.ts';

export const NONE: Halves = new Uint32Array(0);

/** The members of one audience: hashes of all their names, in 2^bits chunks (0052_onsite.sql). */
export class Members {
  /** Chunks by their bits: those of a new layout arrive before it counts. */
  readonly #layouts = new Map<number, Map<number, Halves>>();
  #bits = -1;
  /** Of the layout that counts, by the first bits of a hash. */
  #chunks: Halves[] = [];
  /** Its place in the index of its account (account-members.ts). */
  readonly slot: number;

  constructor(slot: number) {
    this.slot = slot;
  }

  /** What the layout has as a chunk now. */
  chunk({ bits, chunk }: { bits: number; chunk: number }): Halves {
    return this.#layouts.get(bits)?.get(chunk) ?? NONE;
  }

  setChunk({ bits, chunk }: { bits: number; chunk: number }, names: Halves): void {
    const layout = this.#layouts.get(bits) ?? new Map<number, Halves>();
    this.#layouts.set(bits, layout);
    layout.set(chunk, names);
    if (bits === this.#bits) this.#chunks[chunk] = names;
  }

  /**
   * Makes the chunks of a layout count; undefined: the audience was never computed.
   * @returns those of other layouts, which it has no longer
   */
  setLayout(bits: number | undefined): Halves[] {
    const removed: Halves[] = [];
    for (const [others, layout] of this.#layouts) {
      if (others === bits) continue;
      removed.push(...layout.values());
      this.#layouts.delete(others);
    }
    this.#bits = bits ?? -1;
    const layout = this.#layouts.get(this.#bits);
    const count = bits === undefined ? 0 : 2 ** bits;
    this.#chunks = Array.from({ length: count }, (_, chunk) => layout?.get(chunk) ?? NONE);
    return removed;
  }

  has(hash: VisitorHash): boolean {
    const bits = this.#bits;
    if (bits < 0) return false;
    const halves = this.#chunks[bits === 0 ? 0 : hash.high >>> (32 - bits)] ?? NONE;
    // Within the chunk, hashes are uniform: the bits after the first ones say where one is.
    return holds(halves, hash, ((hash.high << bits) >>> 0) / 2 ** 32);
  }
}

/** @param names UInt64 little-endian, ascending; copied */
export function halvesOf(names: Buffer): Halves {
  const bytes = new Uint8Array(names.length - (names.length % 8));
  bytes.set(names.subarray(0, bytes.length));
  return new Uint32Array(bytes.buffer);
}

/**
 * Searches from where the hash is expected, in steps that double, then by halves: about six
 * comparisons of neighbours among 16,384 hashes, where a binary search takes 14 all over them.
 * @param share the expected position, 0 to 1
 */
function holds(halves: Halves, { high, low }: VisitorHash, share: number): boolean {
  const count = halves.length / 2;
  const guess = Math.min(count - 1, Math.floor(share * count));
  if (guess < 0) return false;
  let first = guess;
  let last = guess;
  let step = 8;
  while (first > 0 && isBelow(high, low, halves, first)) {
    last = first;
    first = Math.max(0, first - step);
    step *= 2;
  }
  while (last < count - 1 && !isBelow(high, low, halves, last)) {
    first = last;
    last = Math.min(count - 1, last + step);
    step *= 2;
  }
  while (first < last) {
    const middle = (first + last + 1) >>> 1;
    if (isBelow(high, low, halves, middle)) last = middle - 1;
    else first = middle;
  }
  return halves[2 * first] === low && halves[2 * first + 1] === high;
}

/** Whether a hash is smaller than the one at `index`. */
function isBelow(high: number, low: number, halves: Halves, index: number): boolean {
  const other = halves[2 * index + 1] ?? 0;
  return high === other ? low < (halves[2 * index] ?? 0) : high < other;
}
