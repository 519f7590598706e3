import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { judgeAttempt, MAX_ATTEMPTS, retryDelay } from './retry.ts';

const first = { attempts: 1, random: 0 };

describe('judging an attempt (ingest 3, 6.2)', () => {
  test.each([200, 201, 204, 299])('%d succeeds', (status) => {
    expect(judgeAttempt({ kind: 'answered', status, excerpt: '' }, first)).toEqual({
      kind: 'succeeded',
      status,
    });
  });

  test.each([408, 429, 500, 502, 503, 504, 599])('%d is retried', (status) => {
    expect(judgeAttempt({ kind: 'answered', status, excerpt: 'busy' }, first)).toEqual({
      kind: 'retry',
      status,
      error: 'busy',
      delay: 10_000,
    });
  });

  test.each([400, 401, 403, 404, 409, 410, 413, 422, 499, 300, 303, 304])(
    '%d is permanent',
    (status) => {
      expect(judgeAttempt({ kind: 'answered', status, excerpt: '' }, first)).toEqual({
        kind: 'dead',
        status,
        error: `answered ${status} without a body`,
        isExhausted: false,
      });
    },
  );

  test('no answer is retried, and a refused address is permanent', () => {
    expect(judgeAttempt({ kind: 'failed', message: 'ECONNREFUSED' }, first)).toEqual({
      kind: 'retry',
      status: null,
      error: 'ECONNREFUSED',
      delay: 10_000,
    });
    expect(judgeAttempt({ kind: 'refused', message: 'loopback' }, first)).toEqual({
      kind: 'dead',
      status: null,
      error: 'loopback',
      isExhausted: false,
    });
  });

  test('the tenth failure is the last', () => {
    const last = { attempts: MAX_ATTEMPTS, random: 0 };
    expect(judgeAttempt({ kind: 'answered', status: 500, excerpt: 'x' }, last)).toEqual({
      kind: 'dead',
      status: 500,
      error: 'x',
      isExhausted: true,
    });
    expect(
      judgeAttempt({ kind: 'failed', message: 'x' }, { attempts: MAX_ATTEMPTS - 1, random: 0 })
        .kind,
    ).toBe('retry');
    expect(judgeAttempt({ kind: 'answered', status: 200, excerpt: '' }, last).kind).toBe(
      'succeeded',
    );
  });
});

describe('the retry schedule', () => {
  test('grows from 10 s to an hour without jitter', () => {
    const delays = Array.from(
      { length: 9 },
      (_, n) => retryDelay({ attempts: n + 1, random: 0 }) / 1000,
    );
    expect(delays.map(Math.round)).toEqual([10, 21, 44, 93, 194, 408, 858, 1801, 3600]);
  });

  test('ends ten attempts that time out a little under two hours after the first began, whatever the jitter', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
          minLength: 9,
          maxLength: 9,
        }),
        (jitter) => {
          const minutes =
            (jitter.reduce((sum, random, n) => sum + retryDelay({ attempts: n + 1, random }), 0) +
              10 * 15_000) /
            60_000;
          expect(minutes).toBeLessThan(120);
          expect(minutes).toBeGreaterThan(105);
        },
      ),
    );
  });
});
