import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { HOLD_MS, LONGEST_DELAY_MS, retryDelay, verdictOf, type Verdict } from './delivery.ts';

describe('what becomes of a batch (ingest 7.5)', () => {
  it.each<[status: number, items: number, Verdict]>([
    [0, 1, 'retry'],
    [200, 1, 'done'],
    [202, 9, 'done'],
    [304, 1, 'retry'],
    [400, 1, 'drop'],
    [400, 2, 'split'],
    [401, 2, 'hold'],
    [402, 2, 'hold'],
    [403, 1, 'hold'],
    [404, 2, 'drop'],
    [405, 2, 'drop'],
    [408, 2, 'drop'],
    [413, 1, 'drop'],
    [413, 2, 'split'],
    [422, 2, 'drop'],
    [429, 2, 'retry'],
    [500, 2, 'retry'],
    [503, 2, 'retry'],
    [504, 2, 'retry'],
    [599, 2, 'retry'],
  ])('after %d, of %d events: %s', (status, items, verdict) => {
    expect(verdictOf(status, items)).toBe(verdict);
  });

  it('only a 2xx says that the host has it, and only a 4xx except 429 that it never will', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 999 }),
        fc.integer({ min: 1, max: 500 }),
        (status, n) => {
          const verdict = verdictOf(status, n);
          expect(verdict === 'done').toBe(status >= 200 && status < 300);
          expect(verdict === 'drop' || verdict === 'hold' || verdict === 'split').toBe(
            status >= 400 && status < 500 && status !== 429,
          );
          if (verdict === 'split') expect(n).toBeGreaterThan(1);
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
