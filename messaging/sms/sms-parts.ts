/** GSM 03.38: the default alphabet, one septet each. */
const GSM_7 = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);
/** Behind an escape: two septets each. */
const GSM_7_EXTENSION = new Set('\f^{}\\[~]|€');

/** Units of a message in one part, and of each part of a longer one, which has a header. */
const ALPHABETS = {
  gsm7: { one: 160, each: 153 },
  ucs2: { one: 70, each: 67 },
} as const;

/** What operators bill: a message is as many SMS as it has parts. */
export interface SmsParts {
  encoding: keyof typeof ALPHABETS;
  /** Septets of GSM-7, or UTF-16 units. */
  units: number;
  /** The text in parts; a character is never cut. Empty for an empty text. */
  parts: readonly string[];
}

/**
 * The parts of an SMS. One character outside of GSM-7, such as a Persian one or a zero-width
 * non-joiner, makes all of it UCS-2.
 */
export function smsParts(text: string): SmsParts {
  const encoding = isGsm7(text) ? 'gsm7' : 'ucs2';
  const unitsOf = encoding === 'gsm7' ? septetsOf : unitsOfCodePoint;
  const { one, each } = ALPHABETS[encoding];
  let units = 0;
  for (const character of text) units += unitsOf(character);
  return { encoding, units, parts: cutText(text, { each: units <= one ? one : each, unitsOf }) };
}

/** Cuts a text between characters, into parts of at most `each` units. */
export function cutText(
  text: string,
  { each, unitsOf = unitsOfCodePoint }: { each: number; unitsOf?: (character: string) => number },
): string[] {
  const parts: string[] = [];
  let [start, end, units] = [0, 0, 0];
  for (const character of text) {
    const more = unitsOf(character);
    if (units + more > each) {
      parts.push(text.slice(start, end));
      [start, units] = [end, 0];
    }
    units += more;
    end += character.length;
  }
  if (end > start) parts.push(text.slice(start));
  return parts;
}

function isGsm7(text: string): boolean {
  for (const character of text)
    if (!GSM_7.has(character) && !GSM_7_EXTENSION.has(character)) return false;
  return true;
}

function septetsOf(character: string): number {
  return GSM_7_EXTENSION.has(character) ? 2 : 1;
}

function unitsOfCodePoint(character: string): number {
  return character.length;
}
