import { readFileSync } from 'node:fs';
import { parseDuration } from './duration.ts';
import type { Setting } from './settings.ts';

interface Options<T> {
  default: T;
  doc: string;
  unit?: string;
  secret?: boolean;
}

function kind<T>(
  options: Options<T>,
  fallbackText: string,
  unit: string,
  parse: (text: string) => T,
): Setting<T> {
  return {
    parse,
    fallback: options.default,
    fallbackText,
    unit: options.unit ?? unit,
    doc: options.doc,
    secret: options.secret ?? false,
  };
}

export function text(options: Options<string>): Setting<string> {
  return kind(options, options.default, 'text', (value) => value);
}

export function oneOf<const T extends string>(
  values: readonly T[],
  options: Options<NoInfer<T>>,
): Setting<T> {
  return kind<T>(options, options.default, 'one of the names', (value) => {
    const found = values.find((one) => one === value);
    if (found === undefined) throw new Error(`one of ${values.join(', ')}`);
    return found;
  });
}

/** Comma-separated texts, trimmed; empty ones are dropped. */
export function list(options: Options<readonly string[]>): Setting<readonly string[]> {
  return kind(options, options.default.join(','), 'comma-separated', (value) => splitList(value));
}

export function splitList(value: string): string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export function flag(options: Options<boolean>): Setting<boolean> {
  return kind(options, String(options.default), 'true or false', (value) => {
    if (/^(true|1|yes|on)$/i.test(value)) return true;
    if (/^(false|0|no|off)$/i.test(value)) return false;
    throw new Error('true or false');
  });
}

export function integer(
  options: Options<number> & { min?: number; max?: number },
): Setting<number> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = options;
  return kind(options, String(options.default), 'count', (value) => {
    const number = Number(value);
    if (!/^-?\d+$/.test(value) || number < min || number > max)
      throw new Error(`a whole number from ${min} to ${max}`);
    return number;
  });
}

const BYTE_UNITS: Record<string, number> = {
  '': 1,
  b: 1,
  kib: 2 ** 10,
  kb: 2 ** 10,
  k: 2 ** 10,
  mib: 2 ** 20,
  mb: 2 ** 20,
  m: 2 ** 20,
  gib: 2 ** 30,
  gb: 2 ** 30,
  g: 2 ** 30,
};

export function bytes(options: Options<number> & { min?: number }): Setting<number> {
  return kind(options, String(options.default), 'bytes', (value) => {
    const parts = /^(\d+)\s*([a-z]*)$/i.exec(value);
    const factor = BYTE_UNITS[parts?.[2]?.toLowerCase() ?? ''];
    const number = Number(parts?.[1]) * (factor ?? Number.NaN);
    if (!Number.isSafeInteger(number) || number < (options.min ?? 0))
      throw new Error(`a number of bytes from ${options.min ?? 0}, for example 5242880 or 5MiB`);
    return number;
  });
}

/** A span of time; the parsed value is in milliseconds. A bare number counts seconds. */
export function duration(options: Options<number> & { min?: number }): Setting<number> {
  return kind(
    options,
    formatDuration(options.default),
    'duration (48h, 90s, 250ms; a bare number is seconds)',
    (value) => {
      const number = parseDuration(value);
      if (number === undefined || number < (options.min ?? 0))
        throw new Error(
          `a duration from ${formatDuration(options.min ?? 0)}, for example 48h, 15s, 250ms`,
        );
      return number;
    },
  );
}

function formatDuration(ms: number): string {
  for (const [unit, size] of [
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1000],
  ] as const)
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  return `${ms}ms`;
}

export interface Address {
  host: string;
  port: number;
}

/** `host:port`, `:port` (all interfaces) or `[v6]:port`; undefined when empty: not served. */
export function address(options: Options<Address | undefined>): Setting<Address | undefined> {
  const fallback = options.default ? formatAddress(options.default) : '';
  return kind(options, fallback, 'host:port', (value) => {
    const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s/]*)):(\d{1,5})$/.exec(value);
    const port = Number(parts?.[3]);
    if (!parts || port > 65_535) throw new Error('host:port, for example localhost:8080 or :8080');
    const host = parts[1] ?? parts[2] ?? '';
    return { host: host === '' ? '0.0.0.0' : host, port };
  });
}

export function formatAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export function url(options: Options<string> & { protocols: readonly string[] }): Setting<string> {
  return kind(options, options.default, 'URL', (value) => {
    const expected = `a URL that begins with ${options.protocols.map((protocol) => `${protocol}//`).join(' or ')}`;
    if (!URL.canParse(value) || !options.protocols.includes(new URL(value).protocol))
      throw new Error(expected);
    return value;
  });
}

/** The path of a PEM file, which can be read at the start. */
export function pemFile(options: Options<string>): Setting<string> {
  return kind(options, options.default, 'path', (path) => {
    requirePem(path);
    return path;
  });
}

/** Throws an Error that says what is expected unless the file is one in PEM. */
export function requirePem(path: string): void {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`a file that this process can read (${(error as Error).message})`, {
      cause: error,
    });
  }
  if (!content.includes('-----BEGIN '))
    throw new Error('a PEM file, which contains a line -----BEGIN …-----');
}
