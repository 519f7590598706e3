import { describe, expect, test } from 'vitest';
import { AddressRules } from './address-rules.ts';
import { AllowedHosts, allowedHosts } from './allowed-hosts.ts';
import { AddressRefused, destinationOf, guardedUrl } from './guard.ts';

const none = new AllowedHosts([]);

const rules = new AddressRules({ ports: [80, 443, 8080], ownAddresses: () => ['8.8.4.4'] });

function refusal(url: string, allowed = none): string {
  try {
    guardedUrl(url, { allowed, rules });
    return 'passes';
  } catch (error) {
    if (error instanceof AddressRefused) return error.message;
    throw error;
  }
}

describe('the guard, before it resolves a name,', () => {
  test.each([
    'https://example.com/hook?a=1',
    'http://example.com:8080/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'HTTPS://EXAMPLE.com',
  ])('lets %s pass', (url) => expect(refusal(url)).toBe('passes'));

  test.each([
    // one loopback address in its notations
    ...[
      '127.0.0.1',
      '2130706433',
      '0x7f000001',
      '017700000001',
      '127.1',
      '127.0.1',
      '0x7f.1',
      '0177.0.0.1',
      '127.0.0.1.',
      '%31%32%37.0.0.1',
      '１２７.0.0.1',
    ],
    ...[
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[0:0:0:0:0:0:0:1]',
      '[64:ff9b::127.0.0.1]',
    ],
  ])('refuses http://%s/ as a loopback address', (host) =>
    expect(refusal(`http://${host}/`)).toContain('is a loopback address'),
  );

  test.each([
    ['http://0/', 'an unspecified address'],
    ['http://[::]/', 'an unspecified address'],
    ['http://169.254.169.254/latest/meta-data', 'a cloud metadata address'],
    ['http://0xa9fea9fe/', 'a cloud metadata address'],
    ['http://[fd00:ec2::254]/', 'a cloud metadata address'],
    ['http://10.1.2.3/', 'a private address'],
    ['http://[fe80::1]/', 'a link-local address'],
    ['http://224.0.0.1/', 'a multicast address'],
    ['http://[2002:7f00:1::]/', 'a tunnel'],
    ['not a url', 'cannot be read'],
    ['http://[fe80::1%25eth0]/', 'cannot be read'],
    ['http://256.256.256.256/', 'cannot be read'],
    ['http://', 'cannot be read'],
    ['//example.com/', 'cannot be read'],
    ['ftp://example.com/', 'begins with ftp:'],
    ['file:///etc/passwd', 'begins with file:'],
    ['javascript:alert(1)', 'begins with javascript:'],
    ['https://user@example.com/', 'user or a password'],
    ['https://user:secret@example.com/', 'user or a password'],
    ['https://example.com:0/', 'port 0'],
    ['https://example.com:22/', 'nothing is sent to port 22'],
    ['http://example.com:6379/', 'nothing is sent to port 6379'],
    ['https://8.8.4.4/', 'an address of this installation'],
    ['https://[::ffff:8.8.4.4]/', 'an address of this installation'],
  ])('refuses %s: %s', (url, message) => expect(refusal(url)).toContain(message));

  test('does not repeat a password in a refusal', () =>
    expect(refusal('https://user:hunter2@example.com/')).not.toContain('hunter2'));

  test('resolves a redirect against the URL that answered it', () => {
    expect(
      guardedUrl('/next', { allowed: none, rules }, new URL('https://example.com/a')).href,
    ).toBe('https://example.com/next');
    expect(() =>
      guardedUrl('//127.0.0.1/', { allowed: none, rules }, new URL('https://example.com/a')),
    ).toThrow(AddressRefused);
  });
});

describe('OUTBOUND_ALLOW_HOSTS', () => {
  const read = (text: string) => allowedHosts({ doc: '' }).parse(text);

  test.each([
    ['127.0.0.1', 'http://127.0.0.1:9000/', true],
    ['127.0.0.1:9000', 'http://127.0.0.1:9000/', true],
    ['127.0.0.1:9000', 'http://127.0.0.1:9001/', false],
    ['127.0.0.1:9000', 'http://2130706433:9000/', true],
    ['127.0.0.1:80', 'http://127.0.0.1/', true],
    ['127.0.0.1:80', 'https://127.0.0.1/', false],
    ['[::1]:8443, 10.0.0.1', 'https://[::1]:8443/', true],
    ['::1', 'https://[::1]:8443/', true],
    ['[::1]:8443, 10.0.0.1', 'https://10.0.0.1/', true],
    ['localhost', 'http://127.0.0.1/', false],
    ['10.0.0.2', 'http://10.0.0.1/', false],
  ])('set to %s allows %s: %s', (setting, url, passes) =>
    expect(refusal(url, read(setting)) === 'passes').toBe(passes),
  );

  test('allows neither another scheme nor a password', () => {
    expect(refusal('ftp://127.0.0.1/', read('127.0.0.1'))).toContain('begins with ftp:');
    expect(refusal('http://a:b@127.0.0.1/', read('127.0.0.1'))).toContain('user or a password');
  });

  test('can name hosts with and without a port', () => {
    const allowed = read('CRM.internal:9000,localhost');
    expect(allowed.allows('crm.internal', 9000)).toBe(true);
    expect(allowed.allows('crm.internal', 9001)).toBe(false);
    expect(allowed.names('crm.internal')).toBe(true);
    expect(allowed.names('crm')).toBe(false);
    expect(allowed.names('localhost')).toBe(true);
  });

  test.each(['http://a', 'a/b', 'a:70000', 'a b', '[::1', 'a:b', '10.0.0.0/8'])(
    'cannot be %s',
    (text) => {
      expect(() => read(text)).toThrow('host or host:port');
    },
  );
});

test('a destination has the port of its scheme', () => {
  expect(destinationOf(new URL('https://a.example/'))).toEqual({ host: 'a.example', port: 443 });
  expect(destinationOf(new URL('http://[::1]/'))).toEqual({ host: '[::1]', port: 80 });
  expect(destinationOf(new URL('http://a.example:81/'))).toEqual({ host: 'a.example', port: 81 });
});
