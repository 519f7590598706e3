import { isIPv6 } from 'node:net';
import { splitList } from '../setting-kinds.ts';
import type { Setting } from '../settings.ts';

const EXPECTED =
  'host or host:port, comma-separated, for example 127.0.0.1:9000,crm.internal,[::1]:8443';

/** Hosts that the address guard allows whatever their addresses are. */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;

  constructor(entries: readonly string[]) {
    this.#names = new Set(entries.map(normaliseEntry));
  }

  /** The entries of both. */
  and(other: AllowedHosts): AllowedHosts {
    return new AllowedHosts([...this.#names, ...other.#names]);
  }

  /** `host` as URL.hostname writes it (IPv6 in brackets). */
  allows(host: string, port: number): boolean {
    return this.#names.has(host) || this.#names.has(`${host}:${port}`);
  }

  /**
   * Whether any entry names the host, which may exist only in this machine's hosts file.
   */
  names(host: string): boolean {
    return [...this.#names].some(
      (entry) => entry === host || (entry.startsWith(`${host}:`) && /:\d+$/.test(entry)),
    );
  }
}

/** Normalises an entry as URLs do hosts. Throws an Error with the expected form. */
function normaliseEntry(entry: string): string {
  const [, host = '', port] =
    /^(\[[^\]]+\]|[^:]+)(?::(\d{1,5}))?$/.exec(isIPv6(entry) ? `[${entry}]` : entry) ?? [];
  const url = URL.parse(`http://${host}/`);
  if (!url || /[/?#@\\\s]/.test(host) || url.hostname === '' || Number(port ?? 0) > 65_535)
    throw new Error(EXPECTED);
  return port === undefined ? url.hostname : `${url.hostname}:${Number(port)}`;
}

/** A setting with exceptions from the address guard. */
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
