import { normaliseKey } from './keys.ts';
import type { JsonObject } from './json.ts';
import { normalisePersian } from './persian.ts';
import { holdsUnencodable, jsonText, MAX_KEYS, MAX_VALUE_BYTES, numberText } from './values.ts';
import { tooMany, unserialisable, type WarningSink } from './warnings.ts';

/** Maps of properties and free traits (ingest 2.3). Every key of `numbers` is one of `text`. */
export interface ValueMaps {
  text: Record<string, string>;
  numbers: Record<string, number>;
}

/**
 * The stored text of a value; undefined for values that are not stored: null, and what JSON cannot
 * encode. numberOf(value) is the matching number.
 */
export function textOf(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return normalisePersian(value, MAX_VALUE_BYTES);
    case 'number':
      return Number.isFinite(value) ? numberText(value) : undefined;
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      return value === null || holdsUnencodable(value) ? undefined : jsonText(value);
    default:
      return undefined;
  }
}

/** A value's entry in the number map: finite numbers and booleans only. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined;
  return typeof value === 'boolean' ? Number(value) : undefined;
}

/**
 * Properties as they are stored (ingest 2.3). Keeps the first 256 keys in JSON.parse order,
 * counting nulls and keys that normalise to nothing. When two keys normalise to the same one, the
 * later one with a value wins in both maps.
 */
export function normaliseProperties(properties: JsonObject | undefined): ValueMaps {
  const maps: ValueMaps = { text: {}, numbers: {} };
  if (properties === undefined) return maps;
  let seen = 0;
  let mayCollide = false;
  for (const sent in properties) {
    if (++seen > MAX_KEYS) break;
    const key = normaliseKey(sent);
    mayCollide ||= key !== sent;
    if (key !== '') writeValue(maps, { key, value: properties[sent], mayCollide });
  }
  return maps;
}

/** Writes one value into both maps. `mayCollide`: the key may already be present. */
export function writeValue(
  maps: ValueMaps,
  entry: { key: string; value: unknown; mayCollide: boolean },
): void {
  const text = textOf(entry.value);
  if (text === undefined) return;
  maps.text[entry.key] = text;
  const number = numberOf(entry.value);
  if (number !== undefined) maps.numbers[entry.key] = number;
  else if (entry.mayCollide && Object.hasOwn(maps.numbers, entry.key))
    Reflect.deleteProperty(maps.numbers, entry.key);
}

/** Adds the warnings of the properties for the client; normaliseProperties stores accordingly. */
export function inspectProperties(properties: JsonObject, warnings: WarningSink): void {
  let sent = 0;
  for (const key in properties) {
    sent++;
    const value = properties[key];
    if ((typeof value === 'number' || typeof value === 'object') && sent <= MAX_KEYS)
      inspectValue(key, value, warnings);
  }
  if (sent > MAX_KEYS) warnings.push(tooMany('too_many_properties', { sent, kept: MAX_KEYS }));
}

/** Warns when a value cannot be stored under its key. */
export function inspectValue(sentKey: string, value: unknown, warnings: WarningSink): void {
  if (!holdsUnencodable(value)) return;
  const key = normaliseKey(sentKey);
  if (key !== '') warnings.push(unserialisable(key));
}
