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
  it('contain every id in a bucket below the count', () => {
    fc.assert(
      fc.property(id, count, (each, n) => {
        expect(bucketOf(each, n)).toBeLessThan(n);
      }),
    );
  });

  it('receive ids only from the bucket that splits when one is added', () => {
    fc.assert(
      fc.property(id, count, (each, n) => {
        const before = bucketOf(each, n);
        const after = bucketOf(each, n + 1);
        expect(after === before || (before === nextToSplit(n) && after === n)).toBe(true);
      }),
    );
  });

  it('split once per doubling of the count, in order', () => {
    for (let n = 1; n < 200; n += 1) expect(nextToSplit(n)).toBe(n - roundSize(n));
    expect([1, 2, 3, 4, 7, 8].map(roundSize)).toEqual([1, 2, 2, 4, 4, 8]);
  });

  it('contain evenly distributed ids', () => {
    const loads = new Array<number>(64).fill(0);
    for (let number = 0; number < 64_000; number += 1) {
      const bucket = bucketOf(claimId('1\0m\0', String(number)), 64);
      loads[bucket] = (loads[bucket] ?? 0) + 1;
    }
    expect(Math.max(...loads)).toBeLessThan(1_200);
    expect(Math.min(...loads)).toBeGreaterThan(800);
  });

  it('have a key made of the prefix and the 4-byte number', () => {
    expect(bucketKey('{clm}:', 258).toString('latin1')).toBe('{clm}:\0\0\u0001\u0002');
  });
});
