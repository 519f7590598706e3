import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { DONE, DROP, HOLD, HOLD_MS, LONGEST_DELAY_MS, RETRY, SPLIT } from './delivery.ts';
import { retryDelay, verdictOf, type Verdict } from './delivery.ts';

describe('what becomes of a batch (ingest 7.5)', () => {
  it.each<[status: number, items: number, Verdict]>([
    [0, 1, RETRY],
    [200, 1, DONE],
    [202, 9, DONE],
    [304, 1, RETRY],
    [400, 1, DROP],
    [400, 2, SPLIT],
    [401, 2, HOLD],
    [402, 2, HOLD],
    [403, 1, HOLD],
    [404, 2, DROP],
    [405, 2, DROP],
    [408, 2, DROP],
    [413, 1, DROP],
    [413, 2, SPLIT],
    [422, 2, DROP],
    [429, 2, RETRY],
    [500, 2, RETRY],
    [503, 2, RETRY],
    [504, 2, RETRY],
    [599, 2, RETRY],
  ])('after %d, of %d events: verdict %d', (status, items, verdict) => {
    expect(verdictOf(status, items)).toBe(verdict);
  });

  it('only a 2xx says that the host has it, and only a 4xx except 429 that it never will', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 999 }),
        fc.integer({ min: 1, max: 500 }),
        (status, n) => {
          const verdict = verdictOf(status, n);
          expect(verdict === DONE).toBe(status >= 200 && status < 300);
          expect(verdict === DROP || verdict === HOLD || verdict === SPLIT).toBe(
            status >= 400 && status < 500 && status !== 429,
          );
          if (verdict === SPLIT) expect(n).toBeGreaterThan(1);
        },
      ),
    );
  });
});

describe('the delay of the next attempt', () => {
  const NOW = Date.parse('2026-11-23T12:00:00Z');
  const delayAt = (random: number, failures: number, retryAfter: string | null = null) => {
    vi.spyOn(Math, 'random').mockReturnValue(random);
    vi.useFakeTimers({ now: NOW });
    return retryDelay(failures, retryAfter);
  };
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  it('has full jitter, from a second doubling up to five minutes', () => {
    expect([1, 2, 3, 9, 10, 1000].map((failures) => delayAt(1, failures))).toEqual([
      1000, 2000, 4000, 256_000, 300_000, 300_000,
    ]);
    expect([1, 5, 1000].map((failures) => delayAt(0, failures))).toEqual([0, 0, 0]);
    expect(delayAt(0.5, 3)).toBe(2000);
  });

  it.each([
    ['30', 30_000],
    [' 5 ', 5000],
    ['0', 0],
    ['Mon, 23 Nov 2026 12:01:00 GMT', 60_000],
    ['Mon, 23 Nov 2026 11:00:00 GMT', 0],
    ['-1', 0],
    ['soon', 0],
    ['', 0],
    ['9999999999', LONGEST_DELAY_MS],
    ['Infinity', LONGEST_DELAY_MS],
  ])('is at least what Retry-After asks: %j', (retryAfter, least) => {
    expect(delayAt(0, 1, retryAfter)).toBe(least);
    expect(delayAt(1, 10, retryAfter)).toBe(Math.max(least, 300_000));
  });

  it('is bounded, whatever a proxy answers', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), fc.string(), (failures, retryAfter) => {
        const delay = retryDelay(failures, retryAfter);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(LONGEST_DELAY_MS);
      }),
    );
    expect(HOLD_MS).toBeLessThan(LONGEST_DELAY_MS);
  });
});
