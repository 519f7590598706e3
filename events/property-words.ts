/**
 * Properties whose value is a word are stored twice: with all properties, and in the column
 * `_property_words` of ClickHouse `events`, where a filter for one is read in a fraction of the
 * time. A word has 1 to MAX_WORD_BYTES bytes, and neither digits nor `=` among them, which leaves
 * out most ids, numbers, times and addresses. The same rule as an expression of ClickHouse:
 * projections/events/ddl/0096_property_words.sql.
 */
export const MAX_WORD_BYTES = 24;

/** Between the name and the word, which is without it: so no two properties look alike. */
export const WORD_SEPARATOR = '=';

const SEPARATOR = WORD_SEPARATOR.charCodeAt(0);
const [ZERO, NINE] = [0x30, 0x39];

/** Of UTF-8, in which no part of a longer character is a digit or `=`. */
export function isWordByte(byte: number): boolean {
  return (byte < ZERO || byte > NINE) && byte !== SEPARATOR;
}

export function isWord(value: string): boolean {
  // a character has one to three bytes for each unit
  if (value === '' || value.length > MAX_WORD_BYTES) return false;
  const bytes = Buffer.from(value);
  return bytes.length <= MAX_WORD_BYTES && bytes.every(isWordByte);
}

/** What `_property_words` has of a property. */
export function propertyWord(name: string, word: string): string {
  return `${name}${WORD_SEPARATOR}${word}`;
}
