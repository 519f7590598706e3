import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketKey, bucketOf, nextToSplit, roundSize } from './bucket.ts';
import { claimId } from './claim-id.ts';

const id = fc.string().map((key) => claimId('1\0m\0', key));
const count = fc.oneof(
  fc.integer({ min: 1, max: 70 }),
  fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  fc.integer({ min: 0, max: 30 }).map((bits) => 2 ** bits),
);

describe('buckets', () => {
  it('an id is in one of those there are', () => {
    fc.assert(
      fc.property(id, count, (each, n) => {
        expect(bucketOf(each, n)).toBeLessThan(n);
      }),
    );
  });

  it('one more bucket takes ids from the bucket that is split, and from no other', () => {
    fc.assert(
      fc.property(id, count, (each, n) => {
        const before = bucketOf(each, n);
        const after = bucketOf(each, n + 1);
        expect(after === before || (before === nextToSplit(n) && after === n)).toBe(true);
      }),
    );
  });

  it('a round splits every bucket once, in order', () => {
    for (let n = 1; n < 200; n += 1) expect(nextToSplit(n)).toBe(n - roundSize(n));
    expect([1, 2, 3, 4, 7, 8].map(roundSize)).toEqual([1, 2, 2, 4, 4, 8]);
  });

  it('ids spread: no bucket of a full round holds much more than its share', () => {
    const loads = new Array<number>(64).fill(0);
    for (let number = 0; number < 64_000; number += 1) {
      const bucket = bucketOf(claimId('1\0m\0', String(number)), 64);
      loads[bucket] = (loads[bucket] ?? 0) + 1;
    }
    expect(Math.max(...loads)).toBeLessThan(1_200);
    expect(Math.min(...loads)).toBeGreaterThan(800);
  });

  it('a key is the prefix and the number', () => {
    expect(bucketKey('{clm}:', 258).toString('latin1')).toBe('{clm}:\0\0\u0001\u0002');
  });
});
