import { truncateBytes } from './bytes.ts';
import { isJsonObject, type JsonObject } from './json.ts';

/** Longest text value in bytes (ingest 8, "String value"). */
export const MAX_VALUE_BYTES = 8192;
/** Keys of properties and of traits that are kept (ingest 8). */
export const MAX_KEYS = 256;

/**
 * A finite number as the text map stores it (ingest 2.3): the shortest decimal digits that read
 * back as the same number, without exponent, integral values without trailing zero (1.0 is "1",
 * 1e21 is "1000000000000000000000", -0 is "0"). Numbers are float64: digits past the 17th are lost
 * on the way, as in the number map.
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
 * True when the value is, or holds at any depth, a number that JSON cannot carry (1e999 reads as
 * Infinity). Needs no stack: JSON may nest without bound.
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

/**
 * True for a number that JSON cannot carry; an array or object is kept in `open` to be looked into.
 */
function isUnencodable(value: unknown, open: object[]): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  if (typeof value === 'object' && value !== null) open.push(value);
  return false;
}

/**
 * JSON text of an array or object, cut to 8192 bytes; the value must not hold an unencodable
 * number. However deep it nests, it does not throw.
 */
export function jsonText(value: object): string {
  try {
    return truncateBytes(JSON.stringify(value), MAX_VALUE_BYTES);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return truncateBytes(beginningOfJson(value), MAX_VALUE_BYTES);
  }
}

/** What is still to be written: text as it is, or a value. */
type Pending = { text: string } | { value: unknown };

/**
 * The beginning of JSON.stringify(value), at least 8192 units of it, without recursion: for values
 * that nest deeper than the stack.
 */
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
