import { describe, expect, it } from 'vitest';
import { clientAddress, parseTrustedProxies } from './client-address.ts';

const proxies = ['10.0.0.0/8', '192.168.1.1', 'fd00::/8'];

describe('the address of the client', () => {
  it.each([
    ['a connection without a proxy', '203.0.113.9', undefined, [], '203.0.113.9'],
    ['an IPv4 address in IPv6', '::ffff:203.0.113.9', undefined, [], '203.0.113.9'],
    ['a connection without an address', undefined, undefined, proxies, ''],
    ['no trusted proxy', '10.0.0.1', '198.51.100.7', [], '10.0.0.1'],
    ['no proxy at all', '10.0.0.1', '198.51.100.7', ['none'], '10.0.0.1'],
    ['a connection that is not trusted', '203.0.113.9', '198.51.100.7', proxies, '203.0.113.9'],
    ['a trusted proxy', '10.0.0.1', '198.51.100.7', proxies, '198.51.100.7'],
    [
      'several proxies, behind an address that the client wrote',
      '10.0.0.1',
      '1.1.1.1, 198.51.100.7, 192.168.1.1',
      proxies,
      '198.51.100.7',
    ],
    ['a trusted proxy without X-Forwarded-For', '10.0.0.1', undefined, proxies, '10.0.0.1'],
    ['only proxies', '10.0.0.1', '10.0.0.3, 10.0.0.2', proxies, '10.0.0.3'],
    ['an unreadable hop', '10.0.0.1', '198.51.100.7, unknown, 10.0.0.2', proxies, '10.0.0.2'],
    ['an address with a port', '10.0.0.1', '198.51.100.7:8080', proxies, '198.51.100.7'],
    ['an IPv6 address with a port', 'fd00::1', '[2001:db8::5]:8080', proxies, '2001:db8::5'],
  ])(
    'comes from X-Forwarded-For only behind trusted proxies: %s',
    (_, remote, forwardedFor, trusted, expected) =>
      expect(clientAddress({ remote, forwardedFor }, parseTrustedProxies(trusted))).toBe(expected),
  );

  it.each(['10.0.0.0/33', 'localhost', '10.0.0.0/8/8', '10.0.0', '10.0.0.0/x', '::1/129', 'None'])(
    'cannot come from a proxy that is configured as %s',
    (entry) => expect(() => parseTrustedProxies([entry])).toThrow('addresses or ranges'),
  );
});
