import type { ClaimId } from '../../events/claims/claim-id.ts';

/** Open-addressing hash table from 53 bits of a claim id to a time; 16 bytes per slot. */
class KeyTable {
  readonly #keys: Float64Array;
  readonly #times: Float64Array;
  readonly #mask: number;
  size = 0;
  /** Latest time in the table, ms. */
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

/** Tables that are kept; the oldest one is dropped when the newest one is full. */
const KEY_TABLES = 4;

/**
 * Deduplicates one pass over the log without claims, for positions older than the verdicts: the
 * first event of a key is kept, another one within the window is a duplicate. Memory is bounded by
 * `keys`; when that is too few for the window, `shortestWindow` is the window that was covered, ms.
 * Two keys collide once in about 10^15 pairs.
 */
export class SeenKeys {
  readonly #window: number;
  readonly #slots: number;
  #tables: KeyTable[];
  /** The shortest window covered so far, ms; undefined while the whole window is covered. */
  shortestWindow: number | undefined;

  constructor(options: { window: number; keys: number }) {
    this.#window = options.window;
    this.#slots = 2 ** Math.ceil(Math.log2((2 * Math.max(64, options.keys)) / KEY_TABLES));
    this.#tables = [new KeyTable(this.#slots)];
  }

  /** Whether the key was seen within the window around `at` (Unix ms); adds it if not. */
  isDuplicate(claim: ClaimId, at: number): boolean {
    const key = numberOf(claim);
    for (const table of this.#tables) {
      const first = table.get(key);
      if (first !== undefined && Math.abs(at - first) < this.#window) return true;
    }
    this.#add(key, at);
    return false;
  }

  #add(key: number, at: number): void {
    const newest = this.#tables.at(-1);
    if (newest?.full === true) {
      this.#tables.push(new KeyTable(this.#slots));
      if (this.#tables.length > KEY_TABLES) {
        const dropped = this.#tables.shift();
        const covered = at - (dropped?.newest ?? at);
        if (covered < this.#window)
          this.shortestWindow = Math.min(this.shortestWindow ?? covered, covered);
      }
    }
    this.#tables.at(-1)?.set(key, at);
  }
}

/** The first 53 bits of a claim, never 0. */
function numberOf(claim: ClaimId): number {
  let value = 0;
  for (let at = 0; at < 6; at++) value = value * 256 + claim.charCodeAt(at);
  return value * 32 + (claim.charCodeAt(6) & 31) + (value === 0 ? 1 : 0);
}
