/** Offsets of a value in JSON text: `from` included, `to` not. */
export interface Span {
  from: number;
  to: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = new Set([0x7b, 0x5b]);
const CLOSING = new Set([0x7d, 0x5d]);

/**
 * The elements of an array of the top-level object, by its key. The text must be valid JSON of that
 * form; of a key that occurs twice the last one counts, as for JSON.parse.
 */
export function elementSpans(json: Buffer, key: string): Span[] {
  let found: Span[] = [];
  let at = afterSpace(json, 0) + 1;
  for (;;) {
    at = afterSpace(json, at);
    if (at >= json.length || CLOSING.has(json[at] ?? 0)) return found;
    const nameEnd = valueEnd(json, at);
    const name = JSON.parse(json.toString('utf8', at, nameEnd)) as string;
    const from = afterSpace(json, afterSpace(json, nameEnd) + 1);
    const to = valueEnd(json, from);
    if (name === key) found = itemsOf(json, { from, to });
    at = afterSpace(json, to);
    if (json[at] === COMMA) at++;
  }
}

/** The elements of an array; nothing for another value. */
function itemsOf(json: Buffer, { from, to }: Span): Span[] {
  const items: Span[] = [];
  if (json[from] !== 0x5b) return items;
  for (let at = afterSpace(json, from + 1); at < to - 1;) {
    const end = valueEnd(json, at);
    items.push({ from: at, to: end });
    at = afterSpace(json, end);
    if (json[at] === COMMA) at = afterSpace(json, at + 1);
  }
  return items;
}

function afterSpace(json: Buffer, from: number): number {
  let at = from;
  while (at < json.length && (json[at] ?? 0) <= 0x20) at++;
  return at;
}

/** The offset after the value that begins at `from`. */
function valueEnd(json: Buffer, from: number): number {
  if (json[from] === QUOTE) return stringEnd(json, from);
  const isNested = OPENING.has(json[from] ?? 0);
  let depth = 0;
  for (let at = from; at < json.length; at++) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) at = stringEnd(json, at) - 1;
    else if (OPENING.has(byte)) depth++;
    else if (CLOSING.has(byte)) {
      if (!isNested) return at;
      if (--depth === 0) return at + 1;
    } else if (!isNested && (byte === COMMA || byte <= 0x20)) return at;
  }
  return json.length;
}

function stringEnd(json: Buffer, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return Math.min(at + 1, json.length);
}

/**
 * Every text in JSON, or in something similar that is damaged, cut off, or within other bytes: what
 * follows each quotation mark, up to the next one.
 */
export function* textsIn(json: Buffer): Generator<string, void, void> {
  for (let at = json.indexOf(QUOTE); at >= 0; at = json.indexOf(QUOTE, at + 1)) {
    const end = stringEnd(json, at);
    const quoted = json.toString('utf8', at, end);
    try {
      yield JSON.parse(quoted) as string;
    } catch {
      yield quoted.slice(1);
    }
  }
}
