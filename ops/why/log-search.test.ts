import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sharedRanges } from './log-search.ts';

it('a search of many partitions reads the newest records of each, and never more than its budget', () => {
  const range = fc.tuple(fc.nat(1_000_000), fc.nat(3_000_000)).map(([from, size]) => ({
    ...{ partition: 0, from, to: from + size },
  }));
  fc.assert(
    fc.property(
      fc.array(range, { maxLength: 48 }),
      fc.integer({ min: 48, max: 200_000 }),
      (ranges, records) => {
        const shared = sharedRanges(ranges, records);
        const total = shared.reduce((sum, { from, to }) => sum + (to - from), 0);
        const wanted = ranges.reduce((sum, { from, to }) => sum + (to - from), 0);
        expect(total).toBeLessThanOrEqual(records);
        // What small partitions leave is used by the others.
        expect(total).toBeGreaterThanOrEqual(Math.min(wanted, records) - ranges.length);
        for (const { from, to, isCut } of shared) {
          const whole = ranges.find((one) => one.to === to && one.from <= from);
          expect(whole).toBeDefined();
          if (isCut) expect(total).toBeLessThan(wanted);
        }
      },
    ),
  );
});
