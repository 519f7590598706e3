import { truncateBytes } from './bytes.ts';
import { isJsonObject, type JsonObject } from './json.ts';

/** Maximum length of a text value in bytes (ingest 8, "String value"). */
export const MAX_VALUE_BYTES = 8192;
/** Maximum number of stored keys of properties and of traits (ingest 8). */
export const MAX_KEYS = 256;

/**
 * A finite number as the text map stores it (ingest 2.3): the shortest decimal digits that parse to
 * the same number, without exponent and without a trailing ".0" (1.0 is "1", 1e21 is
 * "1000000000000000000000", -0 is "0"). Numbers are float64: digits past the 17th are lost.
 */
export function numberText(value: number): string {
  const text = String(value);
  const exponentAt = text.indexOf('e');
  return exponentAt < 0 ? text : withoutExponent(text, exponentAt);
}

function withoutExponent(text: string, exponentAt: number): string {
  const isNegative = text.startsWith('-');
  const mantissa = text.slice(isNegative ? 1 : 0, exponentAt);
  const exponent = Number(text.slice(exponentAt + 1));
  const digits = mantissa.replace('.', '');
  const plain =
    exponent > 0 ? digits.padEnd(exponent + 1, '0') : `0.${'0'.repeat(-exponent - 1)}${digits}`;
  return isNegative ? `-${plain}` : plain;
}

/**
 * True when the value is, or contains at any depth, a number that JSON cannot encode (1e999 parses
 * as Infinity). Iterative: JSON may nest without bound.
 */
export function holdsUnencodable(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return false;
  const open: object[] = [value];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (Array.isArray(node)) {
      for (const child of node as unknown[]) if (isUnencodable(child, open)) return true;
    } else {
      for (const key in node) if (isUnencodable((node as JsonObject)[key], open)) return true;
    }
  }
  return false;
}

/** True for a number that JSON cannot encode. Arrays and objects are pushed to `open` for later. */
function isUnencodable(value: unknown, open: object[]): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  if (typeof value === 'object' && value !== null) open.push(value);
  return false;
}

/**
 * JSON text of an array or object, truncated to 8192 bytes. The value must not contain an
 * unencodable number. Does not throw at any nesting depth.
 */
export function jsonText(value: object): string {
  try {
    return truncateBytes(JSON.stringify(value), MAX_VALUE_BYTES);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return truncateBytes(beginningOfJson(value), MAX_VALUE_BYTES);
  }
}

/** Output that is still to be written: text, or a value. */
type Pending = { text: string } | { value: unknown };

/** At least 8192 units of JSON.stringify(value), without recursion: nesting is unbounded. */
function beginningOfJson(value: object): string {
  const pending: Pending[] = [{ value }];
  let out = '';
  for (
    let next = pending.pop();
    next !== undefined && out.length <= MAX_VALUE_BYTES;
    next = pending.pop()
  ) {
    if ('text' in next) out += next.text;
    else if (Array.isArray(next.value))
      pushAll(
        pending,
        '[',
        next.value.map((item: unknown) => ({ label: '', item })),
        ']',
      );
    else if (isJsonObject(next.value)) {
      pushAll(
        pending,
        '{',
        Object.entries(next.value).map(([key, item]) => ({
          label: `${JSON.stringify(key)}:`,
          item,
        })),
        '}',
      );
    } else out += JSON.stringify(next.value);
  }
  return out;
}

function pushAll(
  pending: Pending[],
  open: string,
  members: { label: string; item: unknown }[],
  close: string,
): void {
  pending.push({ text: close });
  for (let at = members.length - 1; at >= 0; at--) {
    const { label, item } = members[at] ?? { label: '', item: null };
    pending.push({ value: item }, { text: (at > 0 ? ',' : '') + label });
  }
  pending.push({ text: open });
}
