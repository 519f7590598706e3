import { isIP } from 'node:net';
import { addressRanges } from '../../platform/network/address-ranges.ts';

/** Loopback, the private ranges of IPv4, unique local and link-local addresses of IPv6. */
const PRIVATE = addressRanges([
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1',
  'fc00::/7',
  'fe80::/10',
]);

/**
 * Whether a listener on this host cannot be reached from the internet. All interfaces (0.0.0.0, ::)
 * and host names other than localhost count as public.
 */
export function isPrivateHost(host: string): boolean {
  return isIP(host) === 0 ? host === 'localhost' : PRIVATE.contains(host);
}
