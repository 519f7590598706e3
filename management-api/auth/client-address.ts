import { isIP } from 'node:net';
import { unmapped, type AddressRanges } from './address-ranges.ts';

interface Connection {
  /** The other end of the TCP connection. */
  remote: string | undefined;
  /** Header X-Forwarded-For, all of its lines joined by commas. */
  forwardedFor: string | undefined;
  trusted: AddressRanges;
}

/**
 * The client's address: the last address on the way that is no trusted proxy (TRUSTED_PROXIES). The header is read from its end and only as far as
 * trusted proxies wrote it, since everything before that can be made up by the client.
 */
export function clientAddress({ remote, forwardedFor, trusted }: Connection): string {
  let address = unmapped(remote ?? '');
  const hops = (forwardedFor ?? '').split(',').map((hop) => unmapped(hop.trim()));
  while (trusted.contains(address)) {
    const before = hops.pop();
    if (before === undefined || isIP(before) === 0) break;
    address = before;
  }
  return address;
}
