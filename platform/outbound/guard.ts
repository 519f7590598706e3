import { isIP } from 'node:net';
import type { AddressRules } from './address-rules.ts';
import type { AllowedHosts } from './allowed-hosts.ts';
import type { Resolve } from './resolve.ts';

/**
 * The address is forbidden; the message says why. Another attempt cannot succeed.
 */
export class AddressRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AddressRefused';
  }
}

/** Where requests may go. */
export interface Guard {
  /** Hosts that the operator allows whatever their addresses and ports are. */
  allowed: AllowedHosts;
  rules: AddressRules;
}

/** The guard, with the only resolver whose answers connections may use. */
export interface OutboundGuard extends Guard {
  resolve: Resolve;
}

/** Host and port of a URL. */
export interface Destination {
  /** As URL.hostname writes it: lower case, IPv6 in brackets. */
  host: string;
  port: number;
}

export function destinationOf(url: URL): Destination {
  return {
    host: url.hostname,
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
  };
}

/**
 * Parses a URL and checks what is known before DNS: http or https, no user or password, an allowed
 * port, and no numeric address where nothing may be sent, in any notation. Throws AddressRefused.
 * Host names are checked when connecting (guarded-agents.ts).
 */
export function guardedUrl(text: string, { allowed, rules }: Guard, base?: URL): URL {
  const url = base ? URL.parse(text, base.href) : URL.parse(text);
  if (!url)
    throw new AddressRefused('the URL cannot be read: it must look like https://example.com/path');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new AddressRefused(`the URL begins with ${url.protocol} and must begin with https:`);
  if (url.username !== '' || url.password !== '')
    throw new AddressRefused(
      'the URL holds a user or a password, which are not sent; sign with a secret',
    );
  if (url.port === '0') throw new AddressRefused('the URL names port 0');
  const destination = destinationOf(url);
  refuseDestination(destination, { allowed, rules });
  if (!allowed.allows(destination.host, destination.port) && !rules.allowsPort(destination.port))
    throw new AddressRefused(
      `nothing is sent to port ${destination.port}; RELAY_ALLOW_PORTS names the ports, OUTBOUND_ALLOW_HOSTS exceptions`,
    );
  return url;
}

/** Throws AddressRefused for a numeric address where nothing may be sent. */
export function refuseDestination({ host, port }: Destination, { allowed, rules }: Guard): void {
  if (allowed.allows(host, port)) return;
  const literal = host.startsWith('[') ? host.slice(1, -1) : host;
  const kind = isIP(literal) === 0 ? undefined : rules.forbidden(literal);
  if (kind !== undefined)
    throw new AddressRefused(
      `${host} is ${kind}, where nothing is sent; OUTBOUND_ALLOW_HOSTS names exceptions`,
    );
}

/**
 * Throws AddressRefused when an address of a host is forbidden. The message, which customers see,
 * names neither the address nor its kind: they are the answers of a name server inside.
 */
export function refuseForbidden(host: string, address: string, rules: AddressRules): void {
  if (rules.forbidden(address) === undefined) return;
  throw new AddressRefused(
    `${host} has an address where nothing is sent; OUTBOUND_ALLOW_HOSTS names exceptions`,
  );
}
