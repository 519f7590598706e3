import { networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import { parseSettings } from '../settings.ts';
import { AddressRules } from './address-rules.ts';
import { addressRules, outboundSettings } from './outbound-settings.ts';

describe('the rules for addresses', () => {
  test('refuse every address of this machine, public ones included', () => {
    const rules = new AddressRules();
    const own = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
    for (const { address } of own) expect(rules.forbidden(address), address).toBeDefined();
    const behind = new AddressRules({ ownAddresses: () => ['8.8.8.8', '2a00:1450::1'] });
    for (const address of ['8.8.8.8', '::ffff:8.8.8.8', '::ffff:808:808', '64:ff9b::808:808'])
      expect(behind.forbidden(address), address).toBe('an address of this installation');
    for (const address of ['2a00:1450::1', '2A00:1450:0::1', '2a00:1450::1%eth0'])
      expect(behind.forbidden(address), address).toBe('an address of this installation');
    expect(behind.forbidden('8.8.4.4')).toBeUndefined();
  });

  test('learn a new address of this machine within five seconds', () => {
    let [time, reads] = [0, 0];
    const own: string[] = [];
    const rules = new AddressRules({ now: () => time, ownAddresses: () => (reads++, own) });
    expect(rules.forbidden('8.8.8.8')).toBeUndefined();
    own.push('8.8.8.8');
    for (time = 1; time < 5000; time += 100) rules.forbidden('8.8.8.8');
    expect(reads).toBe(1);
    time = 5000;
    expect(rules.forbidden('8.8.8.8')).toBe('an address of this installation');
  });

  test('refuse what the operator denies, also inside IPv6', () => {
    const rules = new AddressRules({ denied: ['8.8.8.0/24', '2a00:1450::/32'] });
    for (const address of ['8.8.8.8', '::ffff:8.8.8.8', '64:ff9b::808:808', '2a00:1450:1::1'])
      expect(rules.forbidden(address), address).toBe('an address that the operator denies');
    expect(rules.forbidden('8.8.9.8')).toBeUndefined();
  });

  test.each([
    ['2001:db8::/32', '2001:db8:a00:1::'],
    ['2001:db8:100::/40', '2001:db8:10a:0:1::'],
    ['2001:db8:122::/48', '2001:db8:122:a00:0:100::'],
    ['2001:db8:122:300::/56', '2001:db8:122:30a:0:1::'],
    ['2001:db8:122:344::/64', '2001:db8:122:344:a:0:100:0'],
    ['2001:db8:122:344::/96', '2001:db8:122:344::a00:1'],
    ['fd00:64::/96', 'fd00:64::a00:1'],
    ['64:ff9b:1::/48', '64:ff9b:1:a00:0:100::'],
  ])('judge the IPv4 address that the NAT64 prefix %s carries (RFC 6052)', (prefix, address) => {
    const rules = new AddressRules({ nat64: [prefix], denied: ['10.0.0.1'] });
    expect(rules.forbidden(address)).toBe('a private address');
  });

  test('let an address of the public internet pass under a NAT64 prefix', () => {
    const rules = new AddressRules({ nat64: ['fd00:64::/96'] });
    expect(rules.forbidden('fd00:64::808:808')).toBeUndefined();
    expect(rules.forbidden('fd00:65::808:808')).toBe('a private address');
  });

  test('allow the ports of the web, unless a setting lists others', () => {
    const read = (RELAY_ALLOW_PORTS: string) =>
      addressRules(parseSettings(outboundSettings, { RELAY_ALLOW_PORTS }));
    const allowed = (rules: AddressRules) =>
      [22, 80, 443, 6379, 8443].filter((port) => rules.allowsPort(port));
    expect(allowed(read(''))).toEqual([80, 443]);
    expect(allowed(read('443, 8443'))).toEqual([443, 8443]);
    expect(allowed(read('any'))).toEqual([22, 80, 443, 6379, 8443]);
  });
});

test.each([
  { RELAY_ALLOW_PORTS: '0' },
  { RELAY_ALLOW_PORTS: '80;443' },
  { RELAY_DENY_ADDRESSES: '10.0.0.0/33' },
  { RELAY_NAT64_PREFIXES: '64:ff9b::' },
  { RELAY_NAT64_PREFIXES: '64:ff9b::/95' },
  { RELAY_NAT64_PREFIXES: '10.0.0.0/32' },
])('the setting %o cannot be read', (env) => {
  expect(() => parseSettings(outboundSettings, env)).toThrow('expected');
});
