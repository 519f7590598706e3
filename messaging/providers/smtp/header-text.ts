/** Of one encoded word: 75 characters at most, 12 of them around the text (RFC 2047). */
const MAX_WORD_BYTES = 45;
/** A longer line is folded, which plain text is not. */
const MAX_PLAIN = 200;

/** Text that readers may not understand as it is: not ASCII, too long, or like an encoded word. */
function isPlain(text: string): boolean {
  return text.length <= MAX_PLAIN && /^[\x20-\x7e]*$/.test(text) && !text.includes('=?');
}

/** The value of an unstructured header: one line, in encoded words where it needs them. */
export function headerText(text: string): string {
  const line = oneLine(text);
  return isPlain(line) ? line : encodedWords(line);
}

/** The display name of an address. */
export function displayName(name: string): string {
  const line = oneLine(name);
  return isPlain(line) ? `"${line.replaceAll(/["\\]/g, '\\$&')}"` : encodedWords(line);
}

/** A line break in a value would begin another header. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').trim();
}

/** Cut between code points; readers drop the white space between two encoded words. */
function encodedWords(text: string): string {
  const words: string[] = [];
  let word = '';
  let bytes = 0;
  const end = () => words.push(`=?UTF-8?B?${Buffer.from(word).toString('base64')}?=`);
  for (const character of text) {
    const size = Buffer.byteLength(character);
    if (bytes + size > MAX_WORD_BYTES) {
      end();
      word = '';
      bytes = 0;
    }
    word += character;
    bytes += size;
  }
  end();
  return words.join('\r\n ');
}
