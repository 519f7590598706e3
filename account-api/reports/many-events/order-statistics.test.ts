import fc from 'fast-check';
import { expect, it } from 'vitest';
import { valuesOfRanks } from './order-statistics.ts';

it.each([10, 70_000, 2 ** 31, 2 ** 36])('finds the values of ranks up to %d', (max) => {
  const lists = fc.array(fc.array(fc.integer({ min: 0, max: Math.min(max, 2 ** 31) })), {
    minLength: 1,
    maxLength: 3,
  });
  fc.assert(
    fc.property(lists, fc.array(fc.nat({ max: 30 })), fc.boolean(), (drawn, asked, isGreat) => {
      const factor = isGreat && max > 2 ** 31 ? 2 ** 5 : 1;
      const values = drawn.map((list) => Float64Array.from(list, (value) => value * factor));
      const sorted = values.flatMap((list) => [...list]).sort((a, b) => a - b);
      const ranks = asked.filter((rank) => rank < sorted.length);
      expect(valuesOfRanks({ lists: values, ranks, max })).toEqual(
        ranks.map((rank) => sorted[rank]),
      );
    }),
  );
});
