import { KEEP, PERSIAN_ACTIONS } from './persian-table.ts';

/** What a byte of UTF-8 may begin. `QUOTE` also ends a text without one. */
const OTHER = 0;
const UNCHANGED = 1;
const SPACE = 2;
const LEAD_OF_TWO = 3;
const LEAD_OF_THREE = 4;
const QUOTE = 5;

const KIND = new Uint8Array(256).map((_, byte) => {
  if (byte === 0x22) return QUOTE;
  if (byte === 0x20) return SPACE;
  if (byte < 0x20 || byte === 0x5c) return OTHER;
  if (byte < 0x80) return PERSIAN_ACTIONS[byte] === KEEP ? UNCHANGED : OTHER;
  if (byte >= 0xc2 && byte < 0xe0) return LEAD_OF_TWO;
  return byte >= 0xe0 && byte < 0xf0 ? LEAD_OF_THREE : OTHER;
});

/** The text is not in normal form, or its form is not known without reading it as text. */
export const NOT_NORMAL = -1;

// A constant of this module: an imported one is read anew at each use.
const NO_END = NOT_NORMAL;
const ACTIONS = PERSIAN_ACTIONS;

/* eslint-disable @typescript-eslint/no-non-null-assertion -- indexes are bounded; a fallback for each byte halves the speed */

/**
 * The quote behind a JSON string that begins at `start` (behind its own quote), when Persian
 * normalisation leaves the string as it is and it has no escapes (events/persian.ts, `scan`);
 * NOT_NORMAL otherwise, and for what is no UTF-8 or has four bytes.
 */
export function normalEnd(bytes: Uint8Array, start: number): number {
  let isAfterSpace = true;
  let at = start;
  for (;;) {
    const byte = bytes[at]!;
    const kind = KIND[byte];
    if (kind === UNCHANGED) {
      isAfterSpace = false;
      at++;
    } else if (kind === SPACE) {
      if (isAfterSpace) return NO_END;
      isAfterSpace = true;
      at++;
    } else if (kind === LEAD_OF_TWO) {
      const next = bytes[at + 1]!;
      if ((next & 0xc0) !== 0x80) return NO_END;
      if (ACTIONS[((byte & 0x1f) << 6) | (next & 0x3f)] !== 0) return NO_END;
      isAfterSpace = false;
      at += 2;
    } else if (kind === LEAD_OF_THREE) {
      const second = bytes[at + 1]!;
      const third = bytes[at + 2]!;
      if ((second & 0xc0) !== 0x80 || (third & 0xc0) !== 0x80) return NO_END;
      const unit = ((byte & 0x0f) << 12) | ((second & 0x3f) << 6) | (third & 0x3f);
      // Fewer bytes are enough for lower ones, and surrogates are no UTF-8.
      if (unit < 0x800 || (unit & 0xf800) === 0xd800 || ACTIONS[unit] !== 0) return NO_END;
      isAfterSpace = false;
      at += 3;
    } else {
      if (kind !== QUOTE) return NO_END;
      return isAfterSpace && at > start ? NO_END : at;
    }
  }
}
/* eslint-enable @typescript-eslint/no-non-null-assertion */
