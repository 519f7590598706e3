import { describe, expect, it } from 'vitest';
import { ADDRESS_POLICY, EMAIL_POLICY, networkOf, pausesOf } from './decide.ts';

describe('pauses between guesses', () => {
  it('cost nothing at first, then double up to the longest', () => {
    expect(pausesOf({ free: 2, first: 1000, longest: 5000, memory: 10_000 })).toEqual([
      0, 0, 1000, 2000, 4000, 5000,
    ]);
  });
  it.each([EMAIL_POLICY, ADDRESS_POLICY])(
    'never shrink and are forgotten later than they end: %o',
    (policy) => {
      const pauses = pausesOf(policy);
      expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
      expect(pauses.at(-1)).toBe(policy.longest);
      expect(policy.memory).toBeGreaterThan(policy.longest);
    },
  );
});

describe('what counts as one network address', () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:DB8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::', 'fe80:0:0:0::/64'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
    ['', ''],
  ])('%s', (ip, network) => expect(networkOf(ip)).toBe(network));
});
