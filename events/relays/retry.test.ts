import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decider } from '../testing/given.ts';
import { judgeAttempt, MAX_ATTEMPTS, retryDelay, type AttemptResult } from './retry.ts';

/** The number of an attempt, without jitter. */
const attempt = (attempts: number) => ({ attempts, random: 0 });
const FIRST = attempt(1);
const LAST = attempt(MAX_ATTEMPTS);
const answered = (status: number, excerpt = ''): AttemptResult => ({
  kind: 'answered',
  status,
  excerpt,
});
const { given } = decider((made: typeof FIRST, result: AttemptResult) =>
  judgeAttempt(result, made),
);

describe('judging an attempt (ingest 3, 6.2)', () => {
  it.each([200, 201, 204, 299])('a delivery answered %d succeeds', (status) => {
    given(FIRST).when(answered(status)).then({ kind: 'succeeded', status });
  });

  it.each([408, 429, 500, 502, 503, 504, 599])('a delivery answered %d is retried', (status) => {
    given(FIRST)
      .when(answered(status, 'busy'))
      .then({ kind: 'retry', status, error: 'busy', delay: 10_000 });
  });

  it.each([400, 401, 403, 404, 409, 410, 413, 422, 499, 300, 303, 304])(
    'a delivery answered %d fails permanently',
    (status) => {
      given(FIRST)
        .when(answered(status))
        .then({
          kind: 'dead',
          status,
          error: `answered ${status} without a body`,
          isExhausted: false,
        });
    },
  );

  it('a delivery without an answer is retried', () => {
    given(FIRST)
      .when({ kind: 'failed', message: 'ECONNREFUSED' })
      .then({ kind: 'retry', status: null, error: 'ECONNREFUSED', delay: 10_000 });
  });

  it('a delivery to a refused address fails permanently', () => {
    given(FIRST)
      .when({ kind: 'refused', message: 'loopback' })
      .then({ kind: 'dead', status: null, error: 'loopback', isExhausted: false });
  });

  it('the ninth failure is retried after an hour', () => {
    given(attempt(MAX_ATTEMPTS - 1))
      .when({ kind: 'failed', message: 'x' })
      .then({ kind: 'retry', status: null, error: 'x', delay: 3_600_000 });
  });

  it('the tenth failure is the last', () => {
    given(LAST)
      .when(answered(500, 'x'))
      .then({ kind: 'dead', status: 500, error: 'x', isExhausted: true });
  });

  it('the tenth attempt may succeed', () => {
    given(LAST).when(answered(200)).then({ kind: 'succeeded', status: 200 });
  });
});

describe('the retry schedule', () => {
  it('grows from 10 s to an hour without jitter', () => {
    const delays = Array.from(
      { length: 9 },
      (_, n) => retryDelay({ attempts: n + 1, random: 0 }) / 1000,
    );
    expect(delays.map(Math.round)).toEqual([10, 21, 44, 93, 194, 408, 858, 1801, 3600]);
  });

  it('ends ten attempts that time out a little under two hours after the first began, whatever the jitter', () => {
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
