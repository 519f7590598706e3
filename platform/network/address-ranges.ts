import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

/** A set of addresses and CIDR ranges, IPv4 and IPv6. */
export interface AddressRanges {
  contains(address: string): boolean;
}

/** Whether a text is an address or a CIDR range. */
export function isAddressRange(text: string): boolean {
  const { address, prefix } = split(text);
  const bits = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1;
  return prefix === undefined ? bits > 0 : /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits;
}

/** Compiles ranges; invalid ones match nothing. IPv4 matches its mapped form too. */
export function addressRanges(texts: readonly string[]): AddressRanges {
  const list = new BlockList();
  for (const text of texts.filter(isAddressRange)) {
    const { address, prefix } = split(text);
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return {
    contains: (address) => {
      const plain = unmapped(address);
      return isIP(plain) !== 0 && list.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
    },
  };
}

/** `::ffff:192.0.2.1` as `192.0.2.1`; zone ids are removed. */
export function unmapped(address: string): string {
  if (!address.includes(':')) return address;
  const zone = address.indexOf('%');
  const bare = zone === -1 ? address : address.slice(0, zone);
  return bare.includes('.') ? (/^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1] ?? bare) : bare;
}

function split(text: string): { address: string; prefix: string | undefined } {
  const [address = '', prefix, ...rest] = text.trim().split('/');
  return { address: rest.length > 0 ? '' : address, prefix };
}
