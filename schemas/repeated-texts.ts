import type { Sliceable } from './last-text.ts';

/** Longer texts are always made. */
const MAX_BYTES = 32;
/** A power of two; so many texts are kept. */
const PLACES = 1024;

/**
 * Texts that are the same in many records: keys of maps, names of events. A text has one place,
 * found by a few of its bytes, and replaces what is there; it is returned only when all bytes are
 * the same. So texts that clients invent take no more memory, and cost what making them costs.
 */
export class RepeatedTexts {
  readonly #lengths = new Uint8Array(PLACES);
  readonly #bytes = new Uint8Array(PLACES * MAX_BYTES);
  readonly #texts: string[] = Array.from({ length: PLACES }, () => '');

  /** The text of `bytes` from `from` to `to`, which must be within them. */
  text(bytes: Buffer, from: number, to: number): string {
    const length = to - from;
    if (length === 0) return '';
    if (length > MAX_BYTES) return (bytes as Sliceable).utf8Slice(from, to);
    const place = placeOf(bytes, from, to);
    const kept = this.#bytes;
    const start = place * MAX_BYTES;
    if (this.#lengths[place] === length) {
      let at = 0;
      while (at < length && bytes[from + at] === kept[start + at]) at++;
      if (at === length) return this.#texts[place] ?? '';
    }
    const text = (bytes as Sliceable).utf8Slice(from, to);
    for (let at = 0; at < length; at++) kept[start + at] = bytes[from + at] ?? 0;
    this.#lengths[place] = length;
    this.#texts[place] = text;
    return text;
  }
}

function placeOf(bytes: Buffer, from: number, to: number): number {
  let mixed = to - from;
  for (let at = from; at < to; at++) mixed = Math.imul(mixed, 31) + (bytes[at] ?? 0);
  return Math.imul(mixed, 0x9e3779b1) >>> 22;
}
