import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HashShard, KEPT_BITS, MAX_SLOTS } from './hash-shard.ts';

/** Neighbours, which are in each other's way, at both ends of the table. */
const pairs = fc.record({
  kept: fc.oneof(
    fc.integer({ min: 0, max: 3 }),
    fc.integer({ min: 2 ** KEPT_BITS - 3, max: 2 ** KEPT_BITS - 1 }),
    fc.integer({ min: 0, max: 2 ** KEPT_BITS - 1 }),
  ),
  slot: fc.constantFrom(0, 1, MAX_SLOTS - 1),
});
const changes = fc.array(fc.record({ pair: pairs, isAdded: fc.boolean() }), { maxLength: 120 });

const found = (shard: HashShard, kept: number) => {
  const slots: number[] = [];
  shard.find(kept, slots);
  return slots.sort((a, b) => a - b);
};

describe('a shard of the names of an account', () => {
  it('has the pairs that were added more often than deleted', () => {
    fc.assert(
      fc.property(changes, (made) => {
        const shard = new HashShard();
        const model: { kept: number; slot: number }[] = [];
        for (const { pair, isAdded } of made) {
          const at = model.findIndex(({ kept, slot }) => kept === pair.kept && slot === pair.slot);
          if (isAdded) {
            expect(shard.add(pair.kept, pair.slot)).toBe(true);
            model.push(pair);
          } else {
            shard.delete(pair.kept, pair.slot);
            if (at >= 0) model.splice(at, 1);
          }
          for (const { kept } of [pair, ...model]) {
            const own = model.filter((one) => one.kept === kept).map(({ slot }) => slot);
            expect(found(shard, kept)).toEqual(own.sort((a, b) => a - b));
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('refuses what does not fit, and keeps what it has', () => {
    const shard = new HashShard();
    let added = 0;
    while (shard.add((added * 7919) % 2 ** KEPT_BITS, added % MAX_SLOTS)) added++;
    expect(added).toBeGreaterThan(183_000);
    expect(found(shard, 0)).toEqual([0]);
    shard.delete(0, 0);
    expect(found(shard, 0)).toEqual([]);
    expect(shard.add(0, 5)).toBe(true);
  });
});
