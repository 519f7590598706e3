import { isJsonObject, type JsonObject } from '../json.ts';

/**
 * The JSON object of a delivery; undefined when there is none. Platforms number orders with 64
 * bits: with `keepIds` an integer that a float64 would change comes as its digits, a text. A
 * byte-order mark in front is ignored.
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

/**
 * The text with its integers that a float64 would change between quotation marks. Where the text is
 * JSON it stays JSON; digits inside strings are left alone.
 */
export function quoteLongIntegers(text: string): string {
  let out = '';
  let copied = 0;
  let scanned = 0;
  let isInString = false;
  for (const { 0: digits, index } of text.matchAll(LONG_INTEGERS)) {
    for (
      let quote = text.indexOf('"', scanned);
      quote !== -1 && quote < index;
      quote = text.indexOf('"', scanned)
    ) {
      if (!isEscaped(text, quote)) isInString = !isInString;
      scanned = quote + 1;
    }
    const end = index + digits.length;
    if (
      isInString ||
      !BEFORE_NUMBER.test(text.charAt(index - 1)) ||
      !BEHIND_INTEGER.test(text.charAt(end))
    )
      continue;
    if (Number.isSafeInteger(Number(digits))) continue;
    out += `${text.slice(copied, index)}"${digits}"`;
    copied = end;
  }
  return out + text.slice(copied);
}

/** Not a digit, a point or an exponent: there the run is a part of a number. */
const BEFORE_NUMBER = /^[:,[\s]?$/;
const BEHIND_INTEGER = /^[,\]}\s]?$/;

/** Whether an odd number of backslashes stands before the quotation mark. */
function isEscaped(text: string, quote: number): boolean {
  let at = quote;
  while (text.charCodeAt(at - 1) === 0x5c) at--;
  return (quote - at) % 2 === 1;
}
