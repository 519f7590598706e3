import { hash } from 'node:crypto';

/** Digits of a code: base32 without I, L, O and U (ingest 2.8). */
export const CODE_ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
export const CODE_LENGTH = 7;
/** Maximum length of a target in bytes of UTF-8. */
export const MAX_TARGET_BYTES = 2048;

const DIGIT_BITS = 5n;
const CODE_BITS = DIGIT_BITS * BigInt(CODE_LENGTH);
/** Leading bytes of the hash that make up the digits of a code: 40 bits. */
const PREFIX_BYTES = 5;

/**
 * The code of a target in an account (ingest 4.7): the first 7 base32 digits of SHA-256 over the
 * account id in decimal, a zero byte and the target in UTF-8. Targets are compared byte by byte: a
 * trailing slash gives another code.
 */
export function shortLinkCode(accountId: number, target: string): string {
  const digest = hash('sha256', `${accountId}\0${target}`, 'buffer');
  const prefix =
    BigInt(digest.readUIntBE(0, PREFIX_BYTES)) >> (BigInt(PREFIX_BYTES * 8) - CODE_BITS);
  let code = '';
  for (let at = CODE_LENGTH - 1; at >= 0; at--)
    code += CODE_ALPHABET.charAt(Number((prefix >> (BigInt(at) * DIGIT_BITS)) & 31n));
  return code;
}

const CODE = new RegExp(`^[${CODE_ALPHABET}]{${CODE_LENGTH}}$`);

/** Normalises a code from a URL to upper case; undefined when it cannot be one. */
export function readCode(asked: string): string | undefined {
  const code = asked.toUpperCase();
  return asked.length === CODE_LENGTH && CODE.test(code) ? code : undefined;
}

const SPACE_OR_CONTROL = /[\s\p{Cc}]/u;

/** True for a short link's target: http or https, no spaces or controls, at most 2048 bytes. */
export function isShortLinkTarget(target: string): boolean {
  if (
    Buffer.byteLength(target) > MAX_TARGET_BYTES ||
    !target.isWellFormed() ||
    SPACE_OR_CONTROL.test(target)
  )
    return false;
  return /^https?:\/\//i.test(target) && URL.canParse(target);
}

/** A target for a Location header: unchanged if ASCII, otherwise escaped. */
export function locationOf(target: string): string {
  return /^[\x21-\x7e]+$/.test(target) ? target : new URL(target).href;
}
