import type { VisitorHash } from '../../events/channels/onsite/visitor.ts';
import { HashShard, KEPT_BITS } from './hash-shard.ts';

/** Sorted hashes as halves: low, high, low, high … */
export type Halves = Uint32Array;

/** A table that doubles holds up what else the process does: many small ones hold it up less. */
const SHARD_BITS = 6;

/**
 * In which audiences of an account a name may be: one search finds those whose members have the
 * first 24 bits of its hash, where a search in each would take a thousand searches. Costs 8 bytes a
 * name and audience on average, 12 at most.
 */
export class NameIndex {
  readonly #shards: (HashShard | undefined)[] = Array.from({ length: 2 ** SHARD_BITS });

  /** Slots of the audiences that may have the name; some of them several times. */
  slots({ high }: VisitorHash): number[] {
    const found: number[] = [];
    this.#shards[high >>> (32 - SHARD_BITS)]?.find(keptOf(high), found);
    return found;
  }

  /**
   * Replaces names of an audience, at the cost of what differs.
   * @returns false: some of them did not fit
   */
  replace(slot: number, { before, after }: { before: Halves; after: Halves }): boolean {
    let fits = true;
    let old = 0;
    let next = 0;
    while (old < before.length || next < after.length) {
      if (before[old] === after[next] && before[old + 1] === after[next + 1]) {
        old += 2;
        next += 2;
        continue;
      }
      const order = compare(before, old, after, next);
      if (order < 0) {
        this.#delete(before[old + 1] ?? 0, slot);
        old += 2;
      } else {
        fits = this.#add(after[next + 1] ?? 0, slot) && fits;
        next += 2;
      }
    }
    return fits;
  }

  #add(high: number, slot: number): boolean {
    const shard = (this.#shards[high >>> (32 - SHARD_BITS)] ??= new HashShard());
    return shard.add(keptOf(high), slot);
  }

  #delete(high: number, slot: number): void {
    this.#shards[high >>> (32 - SHARD_BITS)]?.delete(keptOf(high), slot);
  }
}

/** The bits after those that choose the shard. */
function keptOf(high: number): number {
  return ((high << SHARD_BITS) >>> 0) >>> (32 - KEPT_BITS);
}

/** Of different hashes at two places; one beyond the end is greater than all. */
function compare(a: Halves, atA: number, b: Halves, atB: number): number {
  if (atA >= a.length) return 1;
  if (atB >= b.length) return -1;
  const highs = (a[atA + 1] ?? 0) - (b[atB + 1] ?? 0);
  return highs === 0 ? (a[atA] ?? 0) - (b[atB] ?? 0) : highs;
}
