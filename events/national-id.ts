import { asciiDigits } from './iran-phone.ts';

/** Hyphens and dashes of all widths, and whitespace. */
const SEPARATORS = /[\s\u0085\-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/g;

/** Longer texts are no national ids in any notation. */
const MAX_UNITS = 64;

/**
 * The stored text of an Iranian national id (ingest 2.3, trait national_id), or undefined when it
 * is invalid. Valid: 8 to 10 digits without dashes and spaces, a correct check digit when padded
 * with zeros to ten, and not the same digit ten times. Dashes and short lengths are kept; digits
 * become ASCII, outer spaces are trimmed.
 */
export function parseNationalId(sent: string): string | undefined {
  if (sent.length > MAX_UNITS) return undefined;
  const text = asciiDigits(sent).trim();
  const digits = text.replace(SEPARATORS, '');
  if (!/^\d{8,10}$/.test(digits)) return undefined;
  return hasRightCheckDigit(digits.padStart(10, '0')) ? text : undefined;
}

function hasRightCheckDigit(digits: string): boolean {
  if (/^(\d)\1{9}$/.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < 9; at++) sum += Number(digits[at]) * (10 - at);
  const remainder = sum % 11;
  return Number(digits[9]) === (remainder < 2 ? remainder : 11 - remainder);
}
