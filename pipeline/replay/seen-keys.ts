import type { ClaimId } from '../../events/claims/claim-id.ts';

/**
 * Keys of a stretch of the pass: open addressing over the first 53 bits of a claim and its time, 16
 * bytes a slot.
 */
class KeyTable {
  readonly #keys: Float64Array;
  readonly #times: Float64Array;
  readonly #mask: number;
  size = 0;
  /** The latest time in it, ms. */
  newest = 0;

  constructor(slots: number) {
    this.#keys = new Float64Array(slots);
    this.#times = new Float64Array(slots);
    this.#mask = slots - 1;
  }

  get full(): boolean {
    return this.size * 2 > this.#mask;
  }

  get(key: number): number | undefined {
    const slot = this.#slot(key);
    return this.#keys[slot] === key ? this.#times[slot] : undefined;
  }

  set(key: number, at: number): void {
    const slot = this.#slot(key);
    if (this.#keys[slot] !== key) this.size++;
    this.#keys[slot] = key;
    this.#times[slot] = at;
    this.newest = Math.max(this.newest, at);
  }

  #slot(key: number): number {
    let slot = (key % 0x1_0000_0000) & this.#mask;
    while (this.#keys[slot] !== 0 && this.#keys[slot] !== key) slot = (slot + 1) & this.#mask;
    return slot;
  }
}

/** Stretches that are kept: the window is at least (this - 1) of them long. */
const KEY_TABLES = 4;

/**
 * De-duplication of one pass over the log without claims, for places that no verdict of the
 * pipeline reaches: the first event of a key stands, another one within the window of it is a
 * duplicate. Memory is bounded by `keys`; when they do not suffice for the window, `shortest` tells
 * what was covered, ms. Two keys clash once in about 10^15 pairs.
 */
export class SeenKeys {
  readonly #window: number;
  readonly #slots: number;
  #stretches: KeyTable[];
  /** The shortest window that was covered so far, ms; undefined: the whole one, always. */
  shortestWindow: number | undefined;

  constructor(options: { window: number; keys: number }) {
    this.#window = options.window;
    this.#slots = 2 ** Math.ceil(Math.log2((2 * Math.max(64, options.keys)) / KEY_TABLES));
    this.#stretches = [new KeyTable(this.#slots)];
  }

  /**
   * Whether the key was seen within the window before `at` (ms since the epoch); if not, it counts
   * as seen from now on.
   */
  isDuplicate(claim: ClaimId, at: number): boolean {
    const key = numberOf(claim);
    for (const stretch of this.#stretches) {
      const first = stretch.get(key);
      if (first !== undefined && Math.abs(at - first) < this.#window) return true;
    }
    this.#add(key, at);
    return false;
  }

  #add(key: number, at: number): void {
    const young = this.#stretches.at(-1);
    if (young?.full === true) {
      this.#stretches.push(new KeyTable(this.#slots));
      if (this.#stretches.length > KEY_TABLES) {
        const gone = this.#stretches.shift();
        const covered = at - (gone?.newest ?? at);
        if (covered < this.#window)
          this.shortestWindow = Math.min(this.shortestWindow ?? covered, covered);
      }
    }
    this.#stretches.at(-1)?.set(key, at);
  }
}

/** The first 53 bits of a claim, never 0. */
function numberOf(claim: ClaimId): number {
  let value = 0;
  for (let at = 0; at < 6; at++) value = value * 256 + claim.charCodeAt(at);
  return value * 32 + (claim.charCodeAt(6) & 31) + (value === 0 ? 1 : 0);
}
