import { describe, expect, it } from 'vitest';
import { EMAIL_POLICY, networkOf, NETWORK_POLICY, pausesOf } from './decide.ts';

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

describe('the limit of sign-ins', () => {
  it.each([
    ['203.0.113.9', '203.0.113.0/24'],
    ['203.0.113.200', '203.0.113.0/24'],
    ['::ffff:cb00:7109', '203.0.113.0/24'],
    ['2001:db8:1:234:3:4:5:6', '2001:db8:1:200::/56'],
    ['2001:db8:1:2::9', '2001:db8:1:0::/56'],
    ['2001:DB8::1', '2001:db8:0:0::/56'],
    ['::1', '0:0:0:0::/56'],
    ['fe80::1%eth0', 'fe80:0:0:0::/56'],
    ['2001:0db8:0001:ab02::', '2001:db8:1:ab00::/56'],
    ['', ''],
  ])('counts the address "%s" as "%s"', (ip, network) => expect(networkOf(ip)).toBe(network));
});
