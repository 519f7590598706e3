const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const [BRACE_OPEN, BRACE_CLOSE, BRACKET_OPEN, BRACKET_CLOSE] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * The bytes of each item of the array under a key of the top-level object, as the client wrote
 * them: what is stored raw is what came, not what a parser made of it. `bytes` must be valid JSON
 * with such an array; of a key that stands there twice the last one counts, as JSON.parse has it.
 */
export function itemSlices(bytes: Buffer, key: string): Buffer[] {
  let found: Buffer[] = [];
  let at = skipSpace(bytes, 0) + 1;
  for (;;) {
    at = skipSpace(bytes, at);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
    if (bytes[at] !== QUOTE) return found;
    const end = skipString(bytes, at);
    const name = JSON.parse(bytes.toString('utf8', at, end)) as string;
    const value = skipSpace(bytes, skipSpace(bytes, end) + 1);
    if (name === key) found = bytes[value] === BRACKET_OPEN ? elements(bytes, value + 1) : [];
    at = skipValue(bytes, value);
  }
}

function elements(bytes: Buffer, start: number): Buffer[] {
  const items: Buffer[] = [];
  for (let at = skipSpace(bytes, start); at < bytes.length && bytes[at] !== BRACKET_CLOSE;) {
    const end = skipValue(bytes, at);
    items.push(bytes.subarray(at, end));
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  return items;
}

function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && (bytes[at] ?? 0) <= 0x20) at++;
  return at;
}

function skipString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** End of the value that begins at `start`. */
function skipValue(bytes: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length;) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      at = skipString(bytes, at);
      if (depth === 0) return at;
      continue;
    }
    if (byte === BRACE_OPEN || byte === BRACKET_OPEN) depth++;
    else if (byte === BRACE_CLOSE || byte === BRACKET_CLOSE) {
      // The end of what surrounds a bare number or word.
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (byte === COMMA || byte === COLON || byte <= 0x20)) return at;
    at++;
  }
  return bytes.length;
}
