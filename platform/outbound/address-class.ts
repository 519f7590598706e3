import { BlockList, isIPv4, isIPv6 } from 'node:net';

/**
 * What is behind addresses that no customer's endpoint has. The first row that holds an address
 * names it.
 */
const IPV4: readonly (readonly [what: string, ...ranges: string[]])[] = [
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
  return rows.map(([what, ...ranges]) => {
    const list = new BlockList();
    for (const range of ranges) {
      const [address = '', prefix] = range.split('/');
      list.addSubnet(address, Number(prefix), family);
    }
    return { what, list };
  });
}

const refusedIpv4 = compile(IPV4, 'ipv4');
const refusedIpv6 = compile(IPV6, 'ipv6');
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');
/**
 * What a numeric address is when nothing may be sent there, for example "a loopback address";
 * undefined for an address of the public internet. IPv6 forms that only carry an IPv4 address
 * (mapped, NAT64) are what they carry; other IPv6 outside 2000::/3 is refused. A zone id is not
 * looked at.
 */
export function forbiddenAddress(text: string): string | undefined {
  const address = text.split('%', 1)[0] ?? '';
  if (isIPv4(address)) return refusedIpv4.find(({ list }) => list.check(address, 'ipv4'))?.what;
  if (!isIPv6(address)) return 'no IP address';
  const groups = groupsOf(address);
  if (carriesIpv4(groups)) {
    const [high = 0, low = 0] = groups.slice(6);
    return forbiddenAddress(`${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`);
  }
  const refused = refusedIpv6.find(({ list }) => list.check(address, 'ipv6'));
  if (refused) return refused.what;
  return globalUnicast.check(address, 'ipv6') ? undefined : 'a reserved address';
}

/** ::ffff:0:0/96 (mapped) and 64:ff9b::/96 (NAT64). */
function carriesIpv4(groups: readonly number[]): boolean {
  const prefix = groups.slice(0, 6).map((group) => group.toString(16));
  return ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'].includes(prefix.join(':'));
}

/** The eight 16-bit groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = withHexadecimalEnd(address).split('::');
  const read = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const [before, after] = [read(head), read(tail ?? '')];
  return tail === undefined
    ? before
    : [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}

/** `::ffff:127.0.0.1` as `::ffff:7f00:1`. */
function withHexadecimalEnd(address: string): string {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  if (!dotted) return address;
  const [, head = '', ...bytes] = dotted;
  const [a = 0, b = 0, c = 0, d = 0] = bytes.map(Number);
  return `${head}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}
