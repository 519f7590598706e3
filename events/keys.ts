import { fitsBytes, truncateBytes } from './bytes.ts';
import { isWhitespaceUnit } from './persian-table.ts';

/** Maximum length of a property or trait key in bytes (ingest 8). */
export const MAX_KEY_BYTES = 128;

const KEEP = 0;
const UNDERSCORE = 1;
const SEPARATOR = 2;
const WHITESPACE = 3;
const CONTROL = 4;

/** Class of each UTF-16 unit in a key; tabs and line breaks count as whitespace. */
const KIND = new Uint8Array(0x10000).map((_, unit) => {
  if (isWhitespaceUnit(unit)) return WHITESPACE;
  if (unit < 0x20 || (unit >= 0x7f && unit <= 0x9f)) return CONTROL;
  if (unit === 0x2e || unit === 0x2d) return SEPARATOR;
  return unit === 0x5f ? UNDERSCORE : KEEP;
});

/**
 * A property or trait key as it is stored (ingest 2.3, "Keys"); empty when nothing remains, then
 * the entry is skipped. A run of whitespace becomes one underscore; each dot and dash becomes one
 * ("a--b" is "a__b"). Underscores at either end are removed, also after truncation to 128 bytes; so
 * `__proto__` is stored as `proto`. Idempotent: a stored key can be normalised again for a lookup.
 */
export function normaliseKey(key: string): string {
  const found = known.get(key);
  if (found !== undefined) return found;
  const stored = normalised(key);
  if (key.length <= MAX_KEY_BYTES) {
    if (known.size >= MAX_KNOWN_KEYS) known.clear();
    known.set(key, stored);
  }
  return stored;
}

/** Stored keys by the sent ones: most events have the keys of other events. */
const known = new Map<string, string>();
const MAX_KNOWN_KEYS = 10_000;

function normalised(key: string): string {
  const length = key.length;
  if (length === 0) return '';
  if (KIND[key.charCodeAt(0)] !== KEEP || KIND[key.charCodeAt(length - 1)] !== KEEP)
    return rewrite(key);
  for (let at = 1; at < length; at++) {
    if ((KIND[key.charCodeAt(at)] ?? KEEP) > UNDERSCORE) return rewrite(key);
  }
  return fitsBytes(key, MAX_KEY_BYTES) && key.isWellFormed() ? key : rewrite(key);
}

function rewrite(key: string): string {
  let out = '';
  let wasWhitespace = false;
  for (let at = 0; at < key.length && out.length <= MAX_KEY_BYTES; at++) {
    const kind = KIND[key.charCodeAt(at)] ?? KEEP;
    if (kind === CONTROL) continue;
    const isRepeated = kind === WHITESPACE && wasWhitespace;
    wasWhitespace = kind === WHITESPACE;
    if (kind === KEEP) out += key.charAt(at);
    else if (!isRepeated && out !== '') out += '_';
  }
  const cut = truncateBytes(out, MAX_KEY_BYTES);
  let end = cut.length;
  while (end > 0 && cut.charCodeAt(end - 1) === 0x5f) end--;
  return cut.slice(0, end);
}
