import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** Whose word in X-Forwarded-For is taken; undefined when nobody's is. */
export type TrustedProxies = BlockList | undefined;

/** Reads addresses and CIDR ranges. Throws an Error that says what is expected. */
export function parseTrustedProxies(entries: readonly string[]): TrustedProxies {
  if (entries.length === 0) return undefined;
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix, more] = entry.split('/');
    const version = isIP(address);
    const bits = prefix === undefined ? (version === 6 ? 128 : 32) : Number(prefix);
    const isRange = prefix === undefined || (/^\d{1,3}$/.test(prefix) && bits <= (version === 6 ? 128 : 32));
    if (version === 0 || !isRange || more !== undefined) throw new Error('addresses or ranges, comma-separated, for example 10.0.0.0/8,fd00::/8');
    list.addSubnet(address, bits, version === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

/**
 * The address of the client (ingest 2.1): that of the connection, or, when a trusted proxy made the connection, the last one in X-Forwarded-For that is not a
 * trusted proxy. IPv4 in IPv6 is written as IPv4. Empty when the connection tells none.
 */
export function clientAddress(request: IncomingMessage, trusted: TrustedProxies): string {
  const own = plain(request.socket.remoteAddress ?? '');
  if (!trusted || !isTrusted(own, trusted)) return own;
  const forwarded = request.headers['x-forwarded-for'];
  const hops = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',');
  let nearest = own;
  for (const hop of hops.reverse()) {
    const address = withoutPort(hop.trim());
    if (isIP(address) === 0) return nearest;
    nearest = plain(address);
    if (!isTrusted(nearest, trusted)) return nearest;
  }
  return nearest;
}

function isTrusted(address: string, trusted: BlockList): boolean {
  const version = isIP(address);
  return version !== 0 && trusted.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

const MAPPED = '::ffff:';

function plain(address: string): string {
  return address.startsWith(MAPPED) && address.includes('.') ? address.slice(MAPPED.length) : address;
}

/** Some proxies write `1.2.3.4:567` or `[::1]:567`. */
function withoutPort(hop: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(hop)?.[1];
  if (bracketed !== undefined) return bracketed;
  return /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
}
