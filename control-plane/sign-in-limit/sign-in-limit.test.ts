import { describe, expect, it } from 'vitest';
import { EMAIL_POLICY, NETWORK_POLICY, pausesOf } from './decide.ts';

describe('pauses after failed sign-ins', () => {
  it('are zero at first, then double up to maxPause', () => {
    expect(
      pausesOf({ freeFailures: 2, firstPause: 1000, maxPause: 5000, retention: 10_000 }),
    ).toEqual([0, 0, 1000, 2000, 4000, 5000]);
  });
  it.each([
    ['an e-mail address in a network', EMAIL_POLICY],
    ['a network', NETWORK_POLICY],
  ])(
    'never shrink for %s, and its failures are retained longer than the maximum pause',
    (_, policy) => {
      const pauses = pausesOf(policy);
      expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
      expect(pauses.at(-1)).toBe(policy.maxPause);
      expect(policy.retention).toBeGreaterThan(policy.maxPause);
    },
  );
});
