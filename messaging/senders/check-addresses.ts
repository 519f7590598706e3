import { isIP } from 'node:net';
import { RefusedChange } from '../../events/channels/fields.ts';
import type { JsonObject } from '../../events/json.ts';
import { AddressRefused, guardedUrl, type Guard } from '../../platform/outbound/guard.ts';

/**
 * What is known of the addresses in a config before DNS: every `url` passes guardedUrl, and `host`
 * is no numeric address where nothing may be sent, in any notation. Names are checked again when a
 * provider connects. Throws RefusedChange.
 */
export function checkAddresses({ url, host, port }: JsonObject, guard: Guard): void {
  try {
    if (typeof url === 'string') guardedUrl(url, guard);
    if (typeof host === 'string') checkHost({ host, port: Number(port) }, guard);
  } catch (error) {
    if (error instanceof AddressRefused) throw new RefusedChange(error.message);
    throw error;
  }
}

function checkHost(sent: { host: string; port: number }, { allowed, rules }: Guard): void {
  const inUrl = isIP(sent.host) === 6 ? `[${sent.host}]` : sent.host;
  const host = /[/?#@\\\s:]/.test(inUrl.replace(/^\[.*\]$/, ''))
    ? undefined
    : URL.parse(`http://${inUrl}/`)?.hostname;
  if (host === undefined || host === '')
    throw new AddressRefused('host cannot be read: it must look like smtp.example.com');
  if (allowed.allows(host, sent.port)) return;
  const literal = host.startsWith('[') ? host.slice(1, -1) : host;
  const kind = isIP(literal) === 0 ? undefined : rules.forbidden(literal);
  if (kind !== undefined)
    throw new AddressRefused(
      `${host} is ${kind}, where nothing is sent; OUTBOUND_ALLOW_HOSTS names exceptions`,
    );
}
