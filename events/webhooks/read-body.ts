import { isJsonObject, type JsonObject } from '../json.ts';

/**
 * The JSON object of a delivery; undefined when there is none. Platforms use 64-bit order numbers:
 * with `keepIds`, an integer that float64 would change becomes a text of its digits. Ignores a
 * byte-order mark.
 */
export function readDelivery(
  raw: Uint8Array,
  { keepIds }: { keepIds: boolean },
): JsonObject | undefined {
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
    .toString('utf8')
    .replace(/^\uFEFF/, '');
  try {
    const body: unknown = JSON.parse(keepIds ? quoteLongIntegers(text) : text);
    return isJsonObject(body) ? body : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

const LONG_INTEGERS = /-?[1-9]\d{15,}/g;

/** Quotes the integers that float64 would change. Digits inside strings are left alone. */
export function quoteLongIntegers(text: string): string {
  let out = '';
  let copied = 0;
  let scanned = 0;
  let isInString = false;
  for (const { 0: digits, index } of text.matchAll(LONG_INTEGERS)) {
    const end = index + digits.length;
    // The neighbours first: most digits are in the middle of a string, and quotation marks before
    // them are searched for only when the neighbours look like those of a number.
    if (!BEFORE_NUMBER.test(text.charAt(index - 1)) || !BEHIND_INTEGER.test(text.charAt(end)))
      continue;
    for (
      let quote = text.indexOf('"', scanned);
      quote !== -1 && quote < index;
      quote = text.indexOf('"', scanned)
    ) {
      if (!isEscaped(text, quote)) isInString = !isInString;
      scanned = quote + 1;
    }
    if (isInString) continue;
    if (Number.isSafeInteger(Number(digits))) continue;
    out += `${text.slice(copied, index)}"${digits}"`;
    copied = end;
  }
  return out + text.slice(copied);
}

/** A digit, point or exponent before the digits makes them part of a longer number. */
const BEFORE_NUMBER = /^[:,[\s]?$/;
const BEHIND_INTEGER = /^[,\]}\s]?$/;

/** Whether an odd number of backslashes precedes the quotation mark. */
function isEscaped(text: string, quote: number): boolean {
  let at = quote;
  while (text.charCodeAt(at - 1) === 0x5c) at--;
  return (quote - at) % 2 === 1;
}
