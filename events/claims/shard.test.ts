import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketOf } from './bucket.ts';
import { claimId } from './claim-id.ts';
import { joinParts, shardOf, splitByShard } from './shard.ts';

const ids = fc.array(fc.string().map((key) => claimId('1\0m\0', key)));
const shards = fc.constantFrom(1, 2, 3, 32);

describe('shards of claims', () => {
  it('have every id in one of them, in order, and the results come back in the order asked for', () => {
    fc.assert(
      fc.property(ids, shards, (all, count) => {
        const parts = splitByShard(all, { shards: count, idOf: (id) => id });
        for (const { shard, items, at } of parts) {
          expect(items.length).toBeGreaterThan(0);
          expect(items.every((id) => shardOf(id, count) === shard)).toBe(true);
          expect(at).toEqual([...at].sort((a, b) => a - b));
        }
        expect(new Set(parts.map(({ shard }) => shard)).size).toBe(parts.length);
        expect(
          joinParts(
            parts,
            parts.map(({ items }) => items),
          ),
        ).toEqual(all);
      }),
    );
  });

  it('have ids evenly, and the ids of a shard fill its buckets evenly', () => {
    const loads = new Array<number>(32).fill(0);
    const buckets = new Array<number>(16).fill(0);
    for (let number = 0; number < 64_000; number += 1) {
      const id = claimId('1\0m\0', String(number));
      const shard = shardOf(id, 32);
      loads[shard] = (loads[shard] ?? 0) + 1;
      if (shard !== 5) continue;
      const bucket = bucketOf(id, 16);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    expect(Math.max(...loads)).toBeLessThan(2_300);
    expect(Math.min(...loads)).toBeGreaterThan(1_700);
    expect(Math.max(...buckets)).toBeLessThan(190);
    expect(Math.min(...buckets)).toBeGreaterThan(70);
  });

  it('report a shard that answers for fewer ids than it was asked for', () => {
    const [one, two] = ['a', 'b'].map((key) => claimId('1\0m\0', key));
    if (one === undefined || two === undefined) throw new Error('no ids');
    const parts = splitByShard([one, two], { shards: 1, idOf: (id) => id });
    expect(() => joinParts(parts, [[1]])).toThrow(TypeError);
  });
});
