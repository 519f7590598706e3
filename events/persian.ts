import { Buffer } from 'node:buffer';
import { truncateBytes } from './bytes.ts';
import { DROP, KEEP, PERSIAN_ACTIONS, SPACE } from './persian-table.ts';

/**
 * Persian normalisation (ingest 2.3, "Persian normalisation"), truncated to `maxBytes` of UTF-8
 * between two code points.
 *
 * The table in persian-table.ts lists what is folded, removed or collapsed. Everything else is
 * kept, among it zero-width non-joiner, Latin case, Persian digits, zero-width space, alef with
 * madda, yeh with hamza and standalone hamza. Choices where the specification is silent:
 * - A letter followed by a combining madda or hamza equals the composed letter (canonical
 *   equivalence): alef + U+0653 becomes alef with madda, yeh + U+0654 becomes yeh with hamza. Both
 *   are kept, because composition precedes the removal of diacritics. Persian yeh and alef maksura
 *   compose like yeh.
 * - When truncation leaves a trailing space, the space is removed: normalising the stored text
 *   again then changes nothing, so reports find it.
 *
 * Idempotent; the result is never longer than `maxBytes` or than the input in bytes. Time is linear
 * in the input; memory is bounded by `maxBytes`.
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

/** Results of scan: nothing to change. In ASCII text every unit is a byte. */
const NORMAL = -1;
const NORMAL_ASCII = -2;

/** First unit that normalisation changes, or NORMAL or NORMAL_ASCII, in one pass. */
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
/** Maximum signs composed after a letter; Unicode's stream-safe text has at most 30. */
const MAX_SIGNS = 32;

/**
 * The normal form of a letter with the signs after it: canonical composition, which respects order
 * and blocking of signs, then the table.
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
 * Normalises from unit `from`. Stops after `maxUnits` units, because each has at least one byte.
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
