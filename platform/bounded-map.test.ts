import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BoundedMap } from './bounded-map.ts';

describe('a bounded map', () => {
  it('never exceeds its capacity, returns no stale value and always returns the newest entry', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 8 }),
        fc.array(fc.record({ key: fc.nat(20), isSet: fc.boolean() })),
        (capacity, steps) => {
          const map = new BoundedMap<number, string>(capacity);
          const set = new Map<number, string>();
          for (const [at, { key, isSet }] of steps.entries()) {
            if (isSet) {
              map.set(key, `${key}-${at}`);
              set.set(key, `${key}-${at}`);
              expect(map.get(key)).toBe(`${key}-${at}`);
            } else expect([undefined, set.get(key)]).toContain(map.get(key));
            expect(map.size).toBeLessThanOrEqual(2 * Math.max(1, Math.floor(capacity / 2)));
          }
        },
      ),
    );
  });

  it('keeps an entry that is used, and evicts one that is not', () => {
    const map = new BoundedMap<number, number>(10);
    map.set(0, 0);
    for (let key = 1; key < 100; key++) {
      map.set(key, key);
      expect(map.get(0)).toBe(0);
    }
    expect(map.get(50)).toBeUndefined();
  });
});
