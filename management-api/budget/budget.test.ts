import { describe, expect, it } from 'vitest';
import { decider } from '../../events/testing/given.ts';
import { counterKey, rejectOverBudget } from './decide.ts';

/** Units of a heavy call. */
const HEAVY = 25;
const { given } = decider((allowance: number, used: number) =>
  rejectOverBudget({ used, allowance }),
);

describe('the request budget (management 8.1)', () => {
  it('has one counter per key and calendar minute', () => {
    const minute = Date.UTC(2026, 10, 21, 10, 30);
    expect(counterKey({ keyId: 7, now: minute + 59_999 })).toBe(
      counterKey({ keyId: 7, now: minute }),
    );
    expect(counterKey({ keyId: 7, now: minute + 60_000 })).not.toBe(
      counterKey({ keyId: 7, now: minute }),
    );
    expect(counterKey({ keyId: 8, now: minute })).not.toBe(counterKey({ keyId: 7, now: minute }));
  });

  it('passes 24 heavy calls in a minute', () => {
    for (let call = 1; call <= 24; call++)
      given(600)
        .when(call * HEAVY)
        .then(undefined);
  });

  it('rejects the 25th heavy call', () => {
    given(600)
      .when(25 * HEAVY)
      .then({ code: 'budget_exhausted' });
  });
});
