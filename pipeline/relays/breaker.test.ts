import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { afterAttempt, CLOSED, FAILURES_TO_OPEN, phaseOf, type BreakerState } from './breaker.ts';

function after(...attempts: { isAlive: boolean; now: number }[]): BreakerState {
  return attempts.reduce(
    (state: BreakerState, attempt) => afterAttempt(state, { ...attempt, random: 1 }),
    CLOSED,
  );
}
const failures = (count: number, now = 0) =>
  Array.from({ length: count }, () => ({ isAlive: false, now }));

describe('the breaker of an endpoint', () => {
  test('opens after five consecutive failures, is half open after its pause, and closes at the first answer', () => {
    expect(phaseOf(after(...failures(4)), 0)).toBe('closed');
    const open = after(...failures(FAILURES_TO_OPEN));
    expect(phaseOf(open, 0)).toBe('open');
    expect(phaseOf(open, 4999)).toBe('open');
    expect(phaseOf(open, 5000)).toBe('half_open');
    expect(afterAttempt(open, { isAlive: true, now: 5001, random: 0 })).toEqual(CLOSED);
  });

  test('resets the count of failures at an answer', () => {
    expect(phaseOf(after(...failures(4), { isAlive: true, now: 0 }, ...failures(4)), 0)).toBe(
      'closed',
    );
  });

  test('doubles the pause up to a minute when the single attempt fails', () => {
    let state = after(...failures(FAILURES_TO_OPEN));
    const pauses: number[] = [];
    for (let n = 0; n < 6; n++) {
      const now = state.until;
      state = afterAttempt(state, { isAlive: false, now, random: 1 });
      pauses.push(state.until - now);
    }
    expect(pauses).toEqual([10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
  });

  test('does not extend the pause for attempts that began before it opened', () => {
    const open = after(...failures(FAILURES_TO_OPEN));
    expect(afterAttempt(open, { isAlive: false, now: 100, random: 1 }).until).toBe(open.until);
  });

  test('records the time of the first failure since the last success', () => {
    expect(after({ isAlive: false, now: 7 }, ...failures(10, 90)).failingSince).toBe(7);
    expect(after(...failures(3), { isAlive: true, now: 9 }).failingSince).toBeUndefined();
  });

  test('allows another attempt within a minute, whatever happened before', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            isAlive: fc.boolean(),
            wait: fc.nat(100_000),
            random: fc.double({ min: 0, max: 1, noNaN: true }),
          }),
        ),
        (attempts) => {
          let [state, now] = [CLOSED, 0];
          for (const { isAlive, wait, random } of attempts) {
            now += wait;
            state = afterAttempt(state, { isAlive, now, random });
            expect(phaseOf(state, now + 60_000)).not.toBe('open');
            if (isAlive) expect(phaseOf(state, now)).toBe('closed');
          }
        },
      ),
    );
  });
});
