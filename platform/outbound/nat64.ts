import { isIPv6 } from 'node:net';
import { ipv6Groups } from '../network/ipv6-groups.ts';

/** A prefix under which a network translates IPv6 to IPv4 (RFC 6052). */
export interface Nat64Prefix {
  contains(groups: readonly number[]): boolean;
  /** The IPv4 address that an address with this prefix is translated to. */
  ipv4Of(groups: readonly number[]): string;
}

const LENGTHS = [32, 40, 48, 56, 64, 96];
/** Bits 64 to 71 are zero and carry nothing. */
const SKIPPED_BYTE = 8;

/** Throws an Error with the expected form. */
export function nat64Prefix(text: string): Nat64Prefix {
  const [address = '', bits = '', ...rest] = text.split('/');
  const length = Number(bits);
  if (!isIPv6(address) || address.includes('%') || !LENGTHS.includes(length) || rest.length > 0)
    throw new Error(
      `NAT64 prefixes of ${LENGTHS.join(', ')} bits, comma-separated, for example 2001:db8:64::/96`,
    );
  const prefix = bytesOf(ipv6Groups(address)).slice(0, length / 8);
  return {
    contains: (groups) => {
      const bytes = bytesOf(groups);
      return prefix.every((byte, at) => bytes[at] === byte);
    },
    ipv4Of: (groups) =>
      bytesOf(groups)
        .filter((_, at) => at >= length / 8 && (length === 96 || at !== SKIPPED_BYTE))
        .slice(0, 4)
        .join('.'),
  };
}

function bytesOf(groups: readonly number[]): number[] {
  return groups.flatMap((group) => [group >> 8, group & 255]);
}
