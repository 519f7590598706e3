import { expect, it } from 'vitest';
import { networkOf } from './network-of.ts';

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
])('the address "%s" is in the network "%s"', (ip, network) => expect(networkOf(ip)).toBe(network));
