import { Buffer } from 'node:buffer';

/** Length in UTF-8. A lone surrogate counts 3 bytes, as U+FFFD does. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/** True for at most `bound` UTF-8 bytes; short texts need no counting (3 bytes a unit at most). */
export function fitsBytes(text: string, bound: number): boolean {
  if (text.length * 3 <= bound) return true;
  return text.length <= bound && utf8Length(text) <= bound;
}

/** Replaces lone surrogates by U+FFFD, as encoding to UTF-8 would. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/**
 * The longest well-formed prefix of at most `bound` bytes in UTF-8, cut between two code points.
 */
export function truncateBytes(text: string, bound: number): string {
  if (fitsBytes(text, bound)) return wellFormed(text);
  let bytes = 0;
  let end = 0;
  while (end < text.length) {
    const codePoint = text.codePointAt(end) ?? 0;
    bytes += codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
    if (bytes > bound) break;
    end += codePoint < 0x10000 ? 1 : 2;
  }
  return wellFormed(text.slice(0, end));
}
