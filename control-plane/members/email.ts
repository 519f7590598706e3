const MAX_BYTES = 320;

/**
 * An e-mail address as members are found by it: trimmed and lower-cased; undefined for what is
 * none. No more is asked than one @ with something on both sides.
 */
export function readEmail(text: string): string | undefined {
  const email = text.trim().toLowerCase();
  return /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email) &&
    email.isWellFormed() &&
    Buffer.byteLength(email) <= MAX_BYTES
    ? email
    : undefined;
}
