import { splitHosts } from '../split-hosts.ts';

/** Shorter values would also match ordinary words; patterns cover them where they are written. */
const MIN_CHARACTERS = 6;
/** Of one process: its settings with each of their parts and forms. */
const MAX_VALUES = 1000;

const values = new Set<string>();
let compiled: RegExp | undefined;

/**
 * Remembers the value of a secret setting of this process, so that no line that the process writes
 * contains it. A URL counts with its password, and a list with each of its parts; also as JSON
 * writes it, URL-encoded and in base64. Values of fewer than six characters are ignored.
 */
export function rememberSecret(text: string): void {
  for (const part of partsOf(text)) {
    const bytes = Buffer.from(part);
    const base64 = bytes.toString('base64');
    for (const form of [
      part,
      JSON.stringify(part).slice(1, -1),
      encodeURIComponent(part),
      base64,
      base64.replace(/=+$/, ''),
      bytes.toString('base64url'),
    ])
      if (form.length >= MIN_CHARACTERS && values.size < MAX_VALUES) values.add(form);
  }
  compiled = undefined;
}

/** Replaces every remembered secret in a text. */
export function withoutKnownSecrets(text: string, replacement: string): string {
  if (values.size === 0) return text;
  // The longest one first: one secret may contain another.
  compiled ??= new RegExp(
    [...values]
      .toSorted((a, b) => b.length - a.length)
      .map((value) => value.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&'))
      .join('|'),
    'g',
  );
  return text.replace(compiled, () => replacement);
}

function partsOf(text: string): string[] {
  const url = URL.parse(splitHosts(text)[0] ?? text);
  if (url && text.includes('://')) {
    if (url.password === '') return [];
    const password = decoded(url.password);
    // HTTP Basic, as ClickHouse gets it.
    return [url.password, password, `${decoded(url.username)}:${password}`];
  }
  const entries = text.split(',').map((entry) => entry.trim());
  const keys = entries.map((entry) => entry.slice(entry.indexOf(':') + 1));
  return [...new Set([text.trim(), ...entries, ...keys])].filter(
    (part) => part.length >= MIN_CHARACTERS,
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
