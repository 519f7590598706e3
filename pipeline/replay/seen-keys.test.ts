import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimId, claimScope } from '../../events/claims/claim-id.ts';
import { SeenKeys } from './seen-keys.ts';

const idOf = (key: number) => claimId(claimScope(1, 'message'), String(key));

/** The specification: a list of what stood. */
class Slow {
  readonly #stood: { key: number; at: number }[] = [];
  isRepeat(key: number, at: number, window: number): boolean {
    if (this.#stood.some((one) => one.key === key && Math.abs(at - one.at) < window)) return true;
    this.#stood.push({ key, at });
    return false;
  }
}

describe('the de-duplication of a pass without claims', () => {
  it('is the list of what stood, as long as its memory suffices', () => {
    const events = fc.array(
      fc.record({ key: fc.integer({ min: 0, max: 20 }), step: fc.integer({ min: 0, max: 30 }) }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(events, (list) => {
        const [fast, slow] = [new SeenKeys({ window: 100, keys: 10_000 }), new Slow()];
        let now = 1000;
        for (const { key, step } of list) {
          now += step;
          if (fast.isDuplicate(idOf(key), now) !== slow.isRepeat(key, now, 100)) return false;
        }
        return fast.shortestWindow === undefined;
      }),
    );
  });

  it('forgets the oldest keys when memory does not suffice, and tells which window was covered', () => {
    const seen = new SeenKeys({ window: 1_000_000, keys: 64 });
    for (let key = 0; key < 2000; key++) expect(seen.isDuplicate(idOf(key), key)).toBe(false);
    expect(seen.isDuplicate(idOf(1999), 2000)).toBe(true);
    expect(seen.isDuplicate(idOf(0), 2000)).toBe(false);
    expect(seen.shortestWindow).toBeGreaterThan(0);
    expect(seen.shortestWindow).toBeLessThan(1_000_000);
  });

  it('says nothing of a shorter window when what it forgot was older than that', () => {
    const seen = new SeenKeys({ window: 10, keys: 64 });
    for (let key = 0; key < 2000; key++) seen.isDuplicate(idOf(key), 100 * key);
    expect(seen.shortestWindow).toBeUndefined();
  });
});
