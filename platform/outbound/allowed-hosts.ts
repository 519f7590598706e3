import { isIPv6 } from 'node:net';
import { splitList } from '../setting-kinds.ts';
import type { Setting } from '../settings.ts';

const EXPECTED =
  'host or host:port, comma-separated, for example 127.0.0.1:9000,crm.internal,[::1]:8443';

/** Hosts that the address guard lets pass whatever their addresses are. */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;

  constructor(entries: readonly string[]) {
    this.#names = new Set(entries.map(normaliseEntry));
  }

  /** `host` as URL.hostname writes it (IPv6 in brackets). */
  allows(host: string, port: number): boolean {
    return this.#names.has(host) || this.#names.has(`${host}:${port}`);
  }

  /**
   * True for a host that is named in any entry: it may be known to this machine's hosts file only.
   */
  names(host: string): boolean {
    return [...this.#names].some(
      (entry) => entry === host || (entry.startsWith(`${host}:`) && /:\d+$/.test(entry)),
    );
  }
}

/**
 * Writes an entry as URLs write hosts: lower case, numeric addresses in their normal form. Throws
 * an Error that says what is expected.
 */
function normaliseEntry(entry: string): string {
  const [, host = '', port] =
    /^(\[[^\]]+\]|[^:]+)(?::(\d{1,5}))?$/.exec(isIPv6(entry) ? `[${entry}]` : entry) ?? [];
  const url = URL.parse(`http://${host}/`);
  if (!url || /[/?#@\\\s]/.test(host) || url.hostname === '' || Number(port ?? 0) > 65_535)
    throw new Error(EXPECTED);
  return port === undefined ? url.hostname : `${url.hostname}:${Number(port)}`;
}

/** The setting that names exceptions from the address guard. */
export function allowedHosts(options: { doc: string }): Setting<AllowedHosts> {
  return {
    parse: (text) => new AllowedHosts(splitList(text)),
    fallback: new AllowedHosts([]),
    fallbackText: '',
    unit: 'comma-separated host[:port]',
    doc: options.doc,
    secret: false,
  };
}
