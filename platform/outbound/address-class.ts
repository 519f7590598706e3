import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { ipv6Groups } from '../network/ipv6-groups.ts';

/**
 * Ranges that no customer's endpoint has, from IANA's special-purpose registries and the clouds'
 * documentation. The first row that contains an address names its kind. Parsed by node:net alone,
 * because ipaddr.js reads more than the kernel does: 127.1, octal bytes, and ::8.8.8.8 as if it
 * were ::ffff:8.8.8.8.
 */
const IPV4: readonly (readonly [kind: string, ...ranges: string[]])[] = [
  [
    'a cloud metadata address',
    '169.254.169.254/32',
    '169.254.170.2/32',
    '100.100.100.200/32',
    '192.0.0.192/32',
    '168.63.129.16/32',
  ],
  ['a loopback address', '127.0.0.0/8'],
  ['an unspecified address', '0.0.0.0/8'],
  ['a private address', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  ['a link-local address', '169.254.0.0/16'],
  ['an address of carrier-grade NAT', '100.64.0.0/10'],
  ['an address for benchmarks', '198.18.0.0/15'],
  ['an address for documentation', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
  ['an address of a protocol', '192.0.0.0/24', '192.88.99.0/24'],
  ['a multicast address', '224.0.0.0/4'],
  ['a reserved address', '240.0.0.0/4'],
];

const IPV6: typeof IPV4 = [
  ['a cloud metadata address', 'fd00:ec2::254/128', 'fd20:ce::254/128', 'fe80::a9fe:a9fe/128'],
  ['a loopback address', '::1/128'],
  ['an unspecified address', '::/128'],
  ['a private address', 'fc00::/7', 'fec0::/10', '64:ff9b:1::/48'],
  ['a link-local address', 'fe80::/10'],
  ['a multicast address', 'ff00::/8'],
  ['an address for documentation', '2001:db8::/32', '3fff::/20'],
  ['an address of a tunnel (6to4)', '2002::/16'],
  ['an address of a protocol or a tunnel', '2001::/23'],
];

function compile(rows: typeof IPV4, family: 'ipv4' | 'ipv6') {
  return rows.map(([kind, ...ranges]) => {
    const list = new BlockList();
    for (const range of ranges) {
      const [address = '', prefix] = range.split('/');
      list.addSubnet(address, Number(prefix), family);
    }
    return { kind, list };
  });
}

const refusedIpv4 = compile(IPV4, 'ipv4');
const refusedIpv6 = compile(IPV6, 'ipv6');
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');
/**
 * What kind of address this is when requests must not go there, for example "a loopback address";
 * undefined for an address of the public internet. IPv6 forms that only contain an IPv4 address
 * (mapped, NAT64) count as that address; other IPv6 outside 2000::/3 is refused. A zone id is
 * ignored.
 */
export function forbiddenAddress(text: string): string | undefined {
  const address = text.split('%', 1)[0] ?? '';
  if (isIPv4(address)) return refusedIpv4.find(({ list }) => list.check(address, 'ipv4'))?.kind;
  if (!isIPv6(address)) return 'no IP address';
  const groups = ipv6Groups(address);
  const ipv4 = embeddedIpv4(groups);
  if (ipv4 !== undefined) return forbiddenAddress(ipv4);
  const refused = refusedIpv6.find(({ list }) => list.check(address, 'ipv6'));
  if (refused) return refused.kind;
  if (!globalUnicast.check(address, 'ipv6')) return 'a reserved address';
  return isIsatap(groups) ? forbiddenAddress(lastAsIpv4(groups)) : undefined;
}

/**
 * The IPv4 address that an IPv6 address leads to: ::ffff:0:0/96 (mapped) and 64:ff9b::/96 (NAT64).
 * Tunnels (6to4, Teredo) and ::/96 (compatible) are refused as such.
 */
export function embeddedIpv4(groups: readonly number[]): string | undefined {
  const prefix = groups.slice(0, 6).map((group) => group.toString(16));
  return ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'].includes(prefix.join(':'))
    ? lastAsIpv4(groups)
    : undefined;
}

/** Interface ids 0:5efe:a.b.c.d and 200:5efe:a.b.c.d, which ISATAP sends to a.b.c.d. */
function isIsatap([, , , , group, id]: readonly number[]): boolean {
  return id === 0x5efe && ((group ?? 0) & 0xfdff) === 0;
}

function lastAsIpv4(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(6);
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}
