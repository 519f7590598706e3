import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RANGES, valuesOfRanks } from './order-statistics.ts';

it.each([10, 65_535, 65_536, 70_000, 2 ** 31, 2 ** 36])(
  'finds the values of ranks up to %d',
  (max) => {
    const value = fc.oneof(
      fc.maxSafeNat().map((drawn) => drawn % (max + 1)),
      fc.constant(max),
    );
    fc.assert(
      fc.property(fc.array(value), fc.array(fc.nat({ max: 30 })), (values, asked) => {
        const sorted = values.toSorted((a, b) => a - b);
        const ranks = asked.filter((rank) => rank < sorted.length);
        const found = valuesOfRanks({ ranks, max }, ({ low, shift }) => {
          const counts = new Uint32Array(RANGES);
          for (const one of values) {
            const range = Math.floor((one - low) / 2 ** shift);
            if (range >= 0 && range < RANGES) counts[range] = (counts[range] ?? 0) + 1;
          }
          return counts;
        });
        expect(found).toEqual(ranks.map((rank) => sorted[rank]));
      }),
      { numRuns: 50 },
    );
  },
);
