import { CODE_ALPHABET } from '../short-link.ts';

const DIGITS = CODE_ALPHABET.toLowerCase();
const DIGIT_BITS = 5;
const VALUES: ReadonlyMap<string, number> = new Map(
  Array.from(DIGITS, (digit, value) => [digit, value]),
);

/**
 * Base32 with the digits of short links, in lower case; the last digit is filled with zero bits.
 */
export function encodeBase32(bytes: Buffer): string {
  let text = '';
  let rest = 0;
  let bits = 0;
  for (const byte of bytes) {
    rest = (rest << 8) | byte;
    bits += 8;
    while (bits >= DIGIT_BITS) {
      bits -= DIGIT_BITS;
      text += DIGITS.charAt((rest >> bits) & 31);
    }
    rest &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + DIGITS.charAt((rest << (DIGIT_BITS - bits)) & 31);
}

/** Reads both cases; undefined for a text that encodeBase32 does not write. */
export function decodeBase32(text: string): Buffer | undefined {
  const bytes = Buffer.alloc(Math.floor((text.length * DIGIT_BITS) / 8));
  let rest = 0;
  let bits = 0;
  let at = 0;
  for (const digit of text.toLowerCase()) {
    const value = VALUES.get(digit);
    if (value === undefined) return undefined;
    rest = (rest << DIGIT_BITS) | value;
    bits += DIGIT_BITS;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = rest >> bits;
      rest &= (1 << bits) - 1;
    }
  }
  return bits < DIGIT_BITS && rest === 0 ? bytes : undefined;
}
