import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import * as setting from '../setting-kinds.ts';
import { defineSettings, type Setting } from '../settings.ts';
import { addressRanges, isAddressRange, unmapped, type AddressRanges } from './address-ranges.ts';

/** Proxies whose X-Forwarded-For is trusted; undefined: none. */
export type TrustedProxies = AddressRanges | undefined;

const proxies = setting.list({
  default: [],
  doc: 'Addresses and CIDR ranges of proxies in front of the public listeners, comma-separated: only their X-Forwarded-For is trusted. `none`: there is no proxy that writes it; the panel asks for one of the two when PANEL_URL is https://.',
});

/** The value of TRUSTED_PROXIES for an installation without proxies. */
const NONE = 'none';

/** Settings of every public host. */
export const trustedProxySettings = defineSettings({
  TRUSTED_PROXIES: {
    ...proxies,
    parse: (text: string) => {
      const entries = setting.splitList(text);
      parseTrustedProxies(entries);
      return entries;
    },
  } satisfies Setting<readonly string[]>,
});

/** Parses addresses and CIDR ranges, or `none`. Throws an Error with the expected form. */
export function parseTrustedProxies(entries: readonly string[]): TrustedProxies {
  if (entries.length === 1 && entries[0] === NONE) return undefined;
  if (!entries.every(isAddressRange))
    throw new Error(
      'addresses or ranges, comma-separated, for example 10.0.0.0/8,fd00::/8; or none',
    );
  return entries.length === 0 ? undefined : addressRanges(entries);
}

/** The addresses that a request reports. */
export interface ReportedAddresses {
  /** Peer address of the connection. */
  remote: string | undefined;
  /** Header X-Forwarded-For; several are joined with commas. */
  forwardedFor: string | undefined;
}

/**
 * The address of the client (ingest 2.1): the peer's, or, when the peer is a trusted proxy, the
 * last one in X-Forwarded-For that is not a trusted proxy; clients can forge those before it. IPv4
 * in IPv6 is written as IPv4. Empty when the connection has no address.
 */
export function clientAddress(reported: ReportedAddresses, trusted: TrustedProxies): string {
  const own = unmapped(reported.remote ?? '');
  if (!trusted?.contains(own)) return own;
  const hops = (reported.forwardedFor ?? '').split(',');
  let nearest = own;
  for (const hop of hops.reverse()) {
    const address = unmapped(withoutPort(hop.trim()));
    if (isIP(address) === 0) return nearest;
    nearest = address;
    if (!trusted.contains(nearest)) return nearest;
  }
  return nearest;
}

/** The address of the client of a request over node:http. */
export function addressOfRequest(message: IncomingMessage, trusted: TrustedProxies): string {
  return clientAddress(
    {
      remote: message.socket.remoteAddress,
      forwardedFor: message.headers['x-forwarded-for']?.toString(),
    },
    trusted,
  );
}

/** Some proxies write `1.2.3.4:567` or `[::1]:567`. */
function withoutPort(hop: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(hop)?.[1];
  if (bracketed !== undefined) return bracketed;
  return /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
}
