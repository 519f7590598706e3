const MAX_BYTES = 320;

/**
 * The normalised e-mail address: trimmed and lower-cased; undefined for an invalid one. Requires no
 * more than one @ with text on both sides.
 */
export function readEmail(text: string): string | undefined {
  const email = text.trim().toLowerCase();
  return /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email) &&
    email.isWellFormed() &&
    Buffer.byteLength(email) <= MAX_BYTES
    ? email
    : undefined;
}
