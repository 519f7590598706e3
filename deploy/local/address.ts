import type { Address } from '../../platform/setting-kinds.ts';

/** Reads host:port, host or [v6]:port as in a URL or a list of brokers. */
export function parseAddress(text: string, defaultPort: number): Address {
  const parts = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/.exec(text.trim());
  const host = parts?.[1] ?? parts?.[2] ?? '';
  return {
    host: host === '' ? 'localhost' : host,
    port: parts?.[3] === undefined ? defaultPort : Number(parts[3]),
  };
}
