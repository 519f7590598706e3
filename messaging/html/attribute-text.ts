const NAMED: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', num: '#', quest: '?' },
  ...{ equals: '=', sol: '/', colon: ':', percnt: '%', period: '.', lowbar: '_', semi: ';' },
  ...{ commat: '@', plus: '+', comma: ',', excl: '!', dollar: '$', ast: '*', Tab: '\t' },
};
const ENTITY =
  /&(?:#(\d{1,7});?|#[xX]([0-9a-fA-F]{1,6});?|([A-Za-z]{2,6});|(amp|lt|gt|quot)(?![=\w]))/g;

/** The text that an attribute's value means, and where each of its characters is written. */
export interface AttributeText {
  text: string;
  /** Offset in the value of each UTF-16 unit of the text, and of its end. */
  offsets: readonly number[];
}

/**
 * Decodes the entities of an attribute's value. Named ones are those that URLs are written with;
 * others stay as they are written, which is right for all that only adds to the value.
 */
export function attributeText(value: string): AttributeText {
  let text = '';
  const offsets: number[] = [];
  const add = (characters: string, offsetOf: (at: number) => number) => {
    for (let at = 0; at < characters.length; at++) offsets.push(offsetOf(at));
    text += characters;
  };
  let from = 0;
  const addWritten = (to: number) => {
    const start = from;
    add(value.slice(start, to), (at) => start + at);
  };
  for (const match of value.matchAll(ENTITY)) {
    const decoded = decodeEntity(match);
    if (decoded === undefined) continue;
    addWritten(match.index);
    add(decoded, () => match.index);
    from = match.index + match[0].length;
  }
  addWritten(value.length);
  offsets.push(value.length);
  return { text, offsets };
}

function decodeEntity([, decimal, hex, named, short]: RegExpMatchArray): string | undefined {
  const name = named ?? short;
  if (name !== undefined) return Object.hasOwn(NAMED, name) ? NAMED[name] : undefined;
  const code = decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal);
  const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : undefined;
}
