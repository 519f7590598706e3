import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { forbiddenAddress } from './address-class.ts';

describe('forbiddenAddress', () => {
  test.each([
    ['127.0.0.1', 'a loopback address'],
    ['127.255.255.254', 'a loopback address'],
    ['0.0.0.0', 'an unspecified address'],
    ['0.1.2.3', 'an unspecified address'],
    ['10.0.0.1', 'a private address'],
    ['172.16.0.1', 'a private address'],
    ['172.31.255.255', 'a private address'],
    ['192.168.1.1', 'a private address'],
    ['169.254.169.254', 'a cloud metadata address'],
    ['169.254.1.1', 'a link-local address'],
    ['168.63.129.16', 'a cloud metadata address'],
    ['100.100.100.200', 'a cloud metadata address'],
    ['100.64.0.1', 'an address of carrier-grade NAT'],
    ['100.127.255.255', 'an address of carrier-grade NAT'],
    ['198.18.0.1', 'an address for benchmarks'],
    ['192.0.2.1', 'an address for documentation'],
    ['198.51.100.7', 'an address for documentation'],
    ['203.0.113.7', 'an address for documentation'],
    ['192.0.0.8', 'an address of a protocol'],
    ['192.88.99.1', 'an address of a protocol'],
    ['224.0.0.1', 'a multicast address'],
    ['239.255.255.255', 'a multicast address'],
    ['240.0.0.1', 'a reserved address'],
    ['255.255.255.255', 'a reserved address'],
    ['::1', 'a loopback address'],
    ['::', 'an unspecified address'],
    ['fc00::1', 'a private address'],
    ['fd12:3456::1', 'a private address'],
    ['fd00:ec2::254', 'a cloud metadata address'],
    ['fec0::1', 'a private address'],
    ['fe80::1', 'a link-local address'],
    ['fe80::1%eth0', 'a link-local address'],
    ['ff02::1', 'a multicast address'],
    ['2001:db8::1', 'an address for documentation'],
    ['3fff::1', 'an address for documentation'],
    ['2002:7f00:1::', 'an address of a tunnel (6to4)'],
    ['2002:808:808::1', 'an address of a tunnel (6to4)'],
    ['2001::1', 'an address of a protocol or a tunnel'],
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'an address of a protocol or a tunnel'],
    ['2001:10::1', 'an address of a protocol or a tunnel'],
    ['64:ff9b:1::1', 'a private address'],
    ['100::1', 'a reserved address'],
    ['4000::1', 'a reserved address'],
    ['::7f00:1', 'a reserved address'],
    ['::8.8.8.8', 'a reserved address'],
    ['::ffff:0:127.0.0.1', 'a reserved address'],
    // IPv4 in IPv6
    ['::ffff:127.0.0.1', 'a loopback address'],
    ['::ffff:7f00:1', 'a loopback address'],
    ['0:0:0:0:0:ffff:a9fe:a9fe', 'a cloud metadata address'],
    ['::ffff:10.1.2.3', 'a private address'],
    ['64:ff9b::7f00:1', 'a loopback address'],
    ['64:ff9b::10.0.0.1', 'a private address'],
    ['2a00:1450::5efe:10.0.0.1', 'a private address'],
    ['2a00:1450::200:5efe:127.0.0.1', 'a loopback address'],
    ['fe80::5efe:8.8.8.8', 'a link-local address'],
    ['127.1', 'no IP address'],
    ['0177.0.0.1', 'no IP address'],
    ['', 'no IP address'],
    ['example.com', 'no IP address'],
  ])('forbids %s, which is %s', (address, what) => expect(forbiddenAddress(address)).toBe(what));

  test.each([
    ...[
      '1.1.1.1',
      '8.8.8.8',
      '100.63.255.255',
      '100.128.0.0',
      '172.15.0.1',
      '172.32.0.1',
      '192.167.0.1',
      '198.17.0.1',
      '198.20.0.1',
      '223.255.255.255',
    ],
    ...['2606:4700::1111', '2001:200::1', '2a00:1450::1', '::ffff:8.8.8.8', '64:ff9b::808:808'],
  ])('allows %s, an address of the public internet', (address) =>
    expect(forbiddenAddress(address)).toBeUndefined(),
  );

  test('gives an IPv4 address the same kind when IPv6 carries it', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const wanted = forbiddenAddress(address);
        expect(forbiddenAddress(`::ffff:${address}`)).toBe(wanted);
        expect(forbiddenAddress(`64:ff9b::${address}`)).toBe(wanted);
        expect(forbiddenAddress(new URL(`http://[::ffff:${address}]/`).hostname.slice(1, -1))).toBe(
          wanted,
        );
      }),
    );
  });

  test('gives an IPv6 address the same kind in every notation', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const short = new URL(`http://[${address}]/`).hostname.slice(1, -1);
        expect(forbiddenAddress(address)).toBe(forbiddenAddress(short));
      }),
    );
  });
});
