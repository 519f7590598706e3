import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimId, claimScope } from '../../events/claims/claim-id.ts';
import { SeenKeys } from './seen-keys.ts';

const idOf = (key: number) => claimId(claimScope(1, 'message'), String(key));

/** The specification: a list of the kept events. */
class ListModel {
  readonly #kept: { key: number; at: number }[] = [];
  isDuplicate(key: number, at: number, window: number): boolean {
    if (this.#kept.some((one) => one.key === key && Math.abs(at - one.at) < window)) return true;
    this.#kept.push({ key, at });
    return false;
  }
}

describe('deduplication without claims', () => {
  it('behaves like a list of the kept events while memory suffices', () => {
    const events = fc.array(
      fc.record({ key: fc.integer({ min: 0, max: 20 }), step: fc.integer({ min: 0, max: 30 }) }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(events, (list) => {
        const [keys, model] = [new SeenKeys({ window: 100, keys: 10_000 }), new ListModel()];
        let now = 1000;
        for (const { key, step } of list) {
          now += step;
          if (keys.isDuplicate(idOf(key), now) !== model.isDuplicate(key, now, 100)) return false;
        }
        return keys.shortestWindow === undefined;
      }),
    );
  });

  it('forgets the oldest keys when memory does not suffice, and reports the window it covered', () => {
    const seen = new SeenKeys({ window: 1_000_000, keys: 64 });
    for (let key = 0; key < 2000; key++) expect(seen.isDuplicate(idOf(key), key)).toBe(false);
    expect(seen.isDuplicate(idOf(1999), 2000)).toBe(true);
    expect(seen.isDuplicate(idOf(0), 2000)).toBe(false);
    expect(seen.shortestWindow).toBeGreaterThan(0);
    expect(seen.shortestWindow).toBeLessThan(1_000_000);
  });

  it('reports no shorter window when the forgotten keys were older than the window', () => {
    const seen = new SeenKeys({ window: 10, keys: 64 });
    for (let key = 0; key < 2000; key++) seen.isDuplicate(idOf(key), 100 * key);
    expect(seen.shortestWindow).toBeUndefined();
  });
});
