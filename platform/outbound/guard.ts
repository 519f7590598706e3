import { isIP } from 'node:net';
import { forbiddenAddress } from './address-class.ts';
import type { AllowedHosts } from './allowed-hosts.ts';

/**
 * The address is forbidden; the message says why. Another attempt cannot succeed.
 */
export class AddressRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AddressRefused';
  }
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
 * Parses a URL and checks what is known before DNS: http or https, no user or password, and no
 * numeric address outside the public internet, in any notation. Throws AddressRefused. Host names
 * are checked when connecting (guarded-agents.ts).
 */
export function guardedUrl(text: string, allowed: AllowedHosts, base?: URL): URL {
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
  const { host, port } = destinationOf(url);
  const literal = host.startsWith('[') ? host.slice(1, -1) : host;
  if (isIP(literal) !== 0 && !allowed.allows(host, port)) refuseForbidden(host, literal);
  return url;
}

/** Throws AddressRefused when the address of a host is forbidden. */
export function refuseForbidden(host: string, address: string): void {
  const what = forbiddenAddress(address);
  if (what === undefined) return;
  const shown = host.includes(address) ? host : `${host} (${address})`;
  throw new AddressRefused(
    `${shown} is ${what}, where nothing is sent; RELAY_ALLOW_HOSTS names exceptions`,
  );
}
