import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decider, evolver } from '../events/testing/given.ts';
import { afterAttempt, CLOSED, FAILURES_TO_OPEN, phaseOf } from './breaker.ts';

type Attempt = Parameters<typeof afterAttempt>[1];

const success = (now = 0): Attempt => ({ isAlive: true, now, random: 1 });
const failure = (now = 0): Attempt => ({ isAlive: false, now, random: 1 });
const failures = (count: number, now = 0) => Array.from({ length: count }, () => failure(now));
const after = (...attempts: readonly Attempt[]) => attempts.reduce(afterAttempt, CLOSED);

const OPEN = after(...failures(FAILURES_TO_OPEN));
const attempts = evolver(afterAttempt);
const phase = decider(phaseOf);

describe('the breaker of an endpoint', () => {
  it('stays closed after four consecutive failures', () => {
    phase
      .given(after(...failures(4)))
      .when(0)
      .then('closed');
  });

  it('opens after five consecutive failures', () => {
    phase.given(OPEN).when(0).then('open');
  });

  it('is half open after its pause', () => {
    phase.given(OPEN).when(4999).then('open');
    phase.given(OPEN).when(5000).then('half_open');
  });

  it('closes at the first answer', () => {
    attempts.given(OPEN).when({ isAlive: true, now: 5001, random: 0 }).then(CLOSED);
  });

  it('resets the count of failures at an answer', () => {
    phase
      .given(after(...failures(4), success(), ...failures(4)))
      .when(0)
      .then('closed');
  });

  it('doubles the pause up to a minute when the single attempt fails', () => {
    let state = OPEN;
    for (const pause of [10_000, 20_000, 40_000, 60_000, 60_000, 60_000]) {
      const now = state.until;
      attempts
        .given(state)
        .when(failure(now))
        .then({ until: now + pause });
      state = afterAttempt(state, failure(now));
    }
  });

  it('does not extend the pause for attempts that began before it opened', () => {
    attempts.given(OPEN).when(failure(100)).then({ until: OPEN.until });
  });

  it('records the time of the first failure since the last success', () => {
    attempts
      .given(CLOSED)
      .when(failure(7), ...failures(10, 90))
      .then({ failingSince: 7 });
    attempts
      .given(CLOSED)
      .when(...failures(3), success(9))
      .then({ failingSince: undefined });
  });

  it('allows another attempt within a minute, whatever happened before', () => {
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
