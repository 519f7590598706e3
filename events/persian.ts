import { Buffer } from 'node:buffer';
import { truncateBytes } from './bytes.ts';
import { DROP, KEEP, PERSIAN_ACTIONS, SPACE } from './persian-table.ts';

/**
 * Persian normalisation (ingest 2.3, "Persian normalisation"), cut to `maxBytes` of UTF-8 between
 * two code points.
 *
 * What the table of persian-table.ts lists is folded, removed or collapsed; everything else,
 * zero-width non-joiner, Latin case, Persian digits, zero-width space, alef with madda, yeh with
 * hamza and standalone hamza among it, stays. Chosen where the specification is silent:
 * - A letter followed by a combining madda or hamza means the same as the composed letter
 *   (Unicode's canonical equivalence), so alef + U+0653 becomes
 * alef with madda and yeh + U+0654 yeh with hamza, which both stay, before diacritics are removed.
 * Persian yeh and alef maksura count as yeh in this.
 * - A cut that ends behind a space loses that space too: normalising the stored text again then
 *   changes nothing, so that a report finds it.
 *
 * Idempotent, never longer than `maxBytes`, never longer than the input in bytes. Time is linear in
 * the input; memory is bounded by `maxBytes`.
 */
export function normalisePersian(text: string, maxBytes: number): string {
  const firstChange = scan(text);
  if (firstChange === NORMAL_ASCII && text.length <= maxBytes) return text;
  const folded = firstChange < 0 ? text : rewrite(text, firstChange, maxBytes + 2);
  const cut = truncateBytes(folded, maxBytes);
  return cut.length !== folded.length && cut.charCodeAt(cut.length - 1) === 0x20
    ? cut.trimEnd()
    : cut;
}

/**
 * Nothing is to be changed; of ASCII, each unit is a byte besides, and nothing is to be counted.
 */
const NORMAL = -1;
const NORMAL_ASCII = -2;

/**
 * Index of the first unit that normalisation changes, or NORMAL or NORMAL_ASCII. Text that is
 * normal already costs this one pass.
 */
function scan(text: string): number {
  let afterSpace = true;
  let units = 0;
  const length = text.length;
  for (let at = 0; at < length; at++) {
    const unit = text.charCodeAt(at);
    units |= unit;
    if (PERSIAN_ACTIONS[unit] === KEEP) afterSpace = false;
    else if (unit === 0x20 && !afterSpace) afterSpace = true;
    else return at;
  }
  if (afterSpace && length > 0) return length - 1;
  return units < 0x80 ? NORMAL_ASCII : NORMAL;
}

const MADDA = 0x0653;
const HAMZA_ABOVE = 0x0654;
/** Signs behind a letter that are looked at; Unicode's stream-safe text has no more than 30. */
const MAX_SIGNS = 32;

/**
 * The normal form of a letter together with the signs behind it: canonical composition, where order
 * and blocking of signs matter, then the table.
 */
function composed(text: string, letterAt: number): number {
  const letter = text.charAt(letterAt).replace(/[\u0649\u06cc]/, '\u064a');
  const signs = text.slice(letterAt + 1, letterAt + 1 + MAX_SIGNS);
  const unit = (letter + signs).normalize('NFC').charCodeAt(0);
  const action = PERSIAN_ACTIONS[unit] ?? KEEP;
  return action === KEEP ? unit : action;
}

const FIRST_ARABIC = 0x0600;
const LAST_ARABIC = 0x06ff;

let scratch = new Uint16Array(8192 + 2);

/**
 * Normalises from unit `from` on; the answer ends after `maxUnits` units, since none of them takes
 * less than one byte.
 */
function rewrite(text: string, from: number, maxUnits: number): string {
  if (scratch.length < maxUnits) scratch = new Uint16Array(maxUnits);
  const out = scratch;
  let length = 0;
  let spaceDue = false;
  let letterAt = -1;
  for (let at = 0; at < text.length && length < maxUnits; at++) {
    const unit = text.charCodeAt(at);
    const action = at < from && unit !== 0x20 ? KEEP : (PERSIAN_ACTIONS[unit] ?? KEEP);
    if (action === SPACE) {
      spaceDue = length > 0;
      letterAt = -1;
    } else if (action === DROP) {
      if (letterAt < 0 || (unit !== MADDA && unit !== HAMZA_ABOVE)) continue;
      out[length - 1] = composed(text, letterAt);
      letterAt = -1;
    } else {
      if (spaceDue) out[length++] = 0x20;
      spaceDue = false;
      out[length++] = action === KEEP ? unit : action;
      letterAt = unit >= FIRST_ARABIC && unit <= LAST_ARABIC ? at : -1;
    }
  }
  return Buffer.from(out.buffer, 0, Math.min(length, maxUnits) * 2).toString('utf16le');
}
