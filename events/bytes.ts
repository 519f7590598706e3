import { Buffer } from 'node:buffer';

/**
 * Bytes of the text in UTF-8; a lone surrogate counts as the three bytes of U+FFFD, which takes its
 * place.
 */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/**
 * True when the text has at most `bound` bytes in UTF-8. A UTF-16 unit never takes more than three,
 * so most texts are not counted.
 */
export function fitsBytes(text: string, bound: number): boolean {
  if (text.length * 3 <= bound) return true;
  return text.length <= bound && utf8Length(text) <= bound;
}

/** The text with every lone surrogate replaced by U+FFFD: what its UTF-8 bytes say anyway. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/**
 * The longest beginning of the text that has at most `bound` bytes in UTF-8 and ends between two
 * code points; well formed.
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
