/** Bits of an entry that say which audience, and those of a hash that it keeps. */
const SLOT_BITS = 14;
export const KEPT_BITS = 32 - SLOT_BITS;
/** Audiences that a shard can tell apart. */
export const MAX_SLOTS = 2 ** SLOT_BITS - 1;
const SLOT_MASK = MAX_SLOTS;
/**
 * The audiences are in so many groups, each with a place of its own for the same hash: somebody in
 * a thousand audiences is not in the way of others.
 */
const GROUP_BITS = 3;
const GROUPS = 2 ** GROUP_BITS;
const FIRST_BITS = 4;
/** Filled part of a table, at most. */
const MAX_LOAD = 0.7;

/**
 * Some bits of hashes, and the slots of the audiences that have them: a hash table with linear
 * probing in one Uint32Array, 6 to 12 bytes an entry. An entry is the bits, then slot + 1; its
 * place follows from it, so that it can be moved without the hash. The same pair may be there
 * several times.
 */
export class HashShard {
  #bits = FIRST_BITS;
  #entries = new Uint32Array(2 ** FIRST_BITS);
  #count = 0;

  /** False: it is full, which 183,500 entries make it. */
  add(kept: number, slot: number): boolean {
    if (this.#count >= this.#entries.length * MAX_LOAD && !this.#grow()) return false;
    this.#insert(entryOf(kept, slot));
    this.#count++;
    return true;
  }

  delete(kept: number, slot: number): void {
    const sought = entryOf(kept, slot);
    const mask = this.#entries.length - 1;
    let at = this.#placeOf(sought);
    for (;;) {
      const entry = this.#entries[at] ?? 0;
      if (entry === 0) return;
      if (entry === sought) break;
      at = (at + 1) & mask;
    }
    this.#close(at);
    this.#count--;
  }

  /** Adds the slots with these bits to `found`. */
  find(kept: number, found: number[]): void {
    for (let group = 0; group < GROUPS; group++) this.#findGroup(kept, group, found);
  }

  #findGroup(kept: number, group: number, found: number[]): void {
    const mask = this.#entries.length - 1;
    let at = this.#placeOf(((kept << SLOT_BITS) | group) >>> 0);
    for (;;) {
      const entry = this.#entries[at] ?? 0;
      if (entry === 0) return;
      if (entry >>> SLOT_BITS === kept && entry % GROUPS === group)
        found.push((entry & SLOT_MASK) - 1);
      at = (at + 1) & mask;
    }
  }

  #insert(entry: number): void {
    const mask = this.#entries.length - 1;
    let at = this.#placeOf(entry);
    while (this.#entries[at] !== 0) at = (at + 1) & mask;
    this.#entries[at] = entry;
  }

  /** Moves entries back that the gap would hide. */
  #close(gap: number): void {
    const mask = this.#entries.length - 1;
    let at = gap;
    for (;;) {
      at = (at + 1) & mask;
      const entry = this.#entries[at] ?? 0;
      if (entry === 0) break;
      if (((at - this.#placeOf(entry)) & mask) < ((at - gap) & mask)) continue;
      this.#entries[gap] = entry;
      gap = at;
    }
    this.#entries[gap] = 0;
  }

  #grow(): boolean {
    // With more bits, the place of an entry would depend on all of its slot.
    if (this.#bits === KEPT_BITS) return false;
    const entries = this.#entries;
    this.#bits++;
    this.#entries = new Uint32Array(2 ** this.#bits);
    for (const entry of entries) if (entry !== 0) this.#insert(entry);
    return true;
  }

  /** Its first bits, the first of them changed by its group. */
  #placeOf(entry: number): number {
    return (entry >>> (32 - this.#bits)) ^ ((entry % GROUPS) << (this.#bits - GROUP_BITS));
  }
}

function entryOf(kept: number, slot: number): number {
  return ((kept << SLOT_BITS) | (slot + 1)) >>> 0;
}
