import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rowVersion } from './version.ts';

it('versions of a partition are in the order of epoch and offset, and fit into 64 bits', () => {
  const position = fc.record({
    epoch: fc.nat(2 ** 16 - 1),
    offset: fc.oneof(fc.nat(5), fc.integer({ min: 2 ** 40 - 5, max: 2 ** 40 - 1 })),
  });
  fc.assert(
    fc.property(position, position, fc.nat(255), (a, b, partition) => {
      const [one, other] = [rowVersion({ ...a, partition }), rowVersion({ ...b, partition })];
      const order = a.epoch - b.epoch || a.offset - b.offset;
      expect(Number(one > other) - Number(one < other)).toBe(Math.sign(order));
      expect(one < 2n ** 64n).toBe(true);
    }),
  );
});
