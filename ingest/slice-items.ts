import { JSON_BYTES } from '../events/json-bytes.ts';

const { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } =
  JSON_BYTES;

/** The bytes of a JSON value in a body: from `start` up to, not including, `end`. */
export interface Slice {
  start: number;
  end: number;
}

export interface BatchSlices {
  items: Slice[];
  /** Only of a `batch`, like `sentAt`. */
  context: Slice | undefined;
  sentAt: Slice | undefined;
}

/** `[` and `{` differ in this bit only, and so do `]` and `}`. */
const BRACE_BIT = 0x20;

/* eslint-disable @typescript-eslint/no-non-null-assertion -- the scanner runs over valid JSON and stops at its ends; a fallback for each byte halves its speed */

/**
 * Finds the byte slices of the items of an array without decoding them. `body` must be valid JSON:
 * an object with an array under `key`. Of equal keys the last one counts, as in JSON.parse.
 */
export function sliceItems(body: Uint8Array, key: 'batch' | 'events'): BatchSlices {
  const slices: BatchSlices = { items: [], context: undefined, sentAt: undefined };
  let at = skipSpace(body, skipSpace(body, 0) + 1);
  while (at < body.length && body[at] !== CLOSE_BRACE) {
    const keyEnd = skipString(body, at);
    const name = keyOf(body, at, keyEnd);
    const start = skipSpace(body, skipSpace(body, keyEnd) + 1);
    let end: number;
    if (name === key) {
      slices.items = [];
      end =
        body[start] === OPEN_BRACKET
          ? skipArray(body, start, slices.items)
          : skipValue(body, start);
    } else {
      end = skipValue(body, start);
      if (key === 'batch' && name === 'context') slices.context = { start, end };
      else if (key === 'batch' && name === 'sent_at') slices.sentAt = { start, end };
    }
    at = skipSpace(body, end);
    if (body[at] === COMMA) at = skipSpace(body, at + 1);
  }
  return slices;
}

/** The key whose string begins at `start`. Longer keys than those of interest are not decoded. */
function keyOf(body: Uint8Array, start: number, end: number): string | undefined {
  let isEscaped = false;
  for (let at = start; at < end; at++) isEscaped ||= body[at] === BACKSLASH;
  if (!isEscaped && end - start > 9) return undefined;
  return JSON.parse(
    Buffer.from(body.buffer, body.byteOffset + start, end - start).toString(),
  ) as string;
}

/** The end of the array that begins at `start`; adds its items to `items`. */
function skipArray(body: Uint8Array, start: number, items: Slice[]): number {
  let at = skipSpace(body, start + 1);
  while (at < body.length && body[at] !== CLOSE_BRACKET) {
    const end = skipValue(body, at);
    if (end === at) throw new SyntaxError(`no value at byte ${at} of the batch`);
    items.push({ start: at, end });
    at = skipSpace(body, end);
    if (body[at] === COMMA) at = skipSpace(body, at + 1);
  }
  return at + 1;
}

function skipSpace(body: Uint8Array, start: number): number {
  let at = start;
  while (at < body.length && (body[at] === 0x20 || (body[at]! >= 0x09 && body[at]! <= 0x0d))) at++;
  return at;
}

/** The end of the value that begins at `start`. */
function skipValue(body: Uint8Array, start: number): number {
  const first = body[start]!;
  if (first === QUOTE) return skipString(body, start);
  return (first | BRACE_BIT) === OPEN_BRACE ? skipNested(body, start) : skipScalar(body, start);
}

/** The end of the string whose opening quote is at `start`. */
function skipString(body: Uint8Array, start: number): number {
  let at = start + 1;
  for (let byte = body[at]; byte !== QUOTE && at < body.length; byte = body[at])
    at += byte === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** The end of the object or array that begins at `start`. Hot: most bytes of a batch pass it. */
function skipNested(body: Uint8Array, start: number): number {
  const length = body.length;
  let depth = 0;
  let at = start;
  while (at < length) {
    const byte = body[at++]!;
    if (byte === QUOTE) {
      let inner = body[at++]!;
      while (inner !== QUOTE && at < length) {
        if (inner === BACKSLASH) at++;
        inner = body[at++]!;
      }
    } else if (byte >= OPEN_BRACKET) {
      const kind = byte | BRACE_BIT;
      if (kind === OPEN_BRACE) depth++;
      else if (kind === CLOSE_BRACE && --depth === 0) return at;
    }
  }
  return at;
}

/** The end of the number, true, false or null that begins at `start`. */
function skipScalar(body: Uint8Array, start: number): number {
  let at = start;
  while (
    at < body.length &&
    body[at] !== COMMA &&
    body[at] !== COLON &&
    (body[at]! | BRACE_BIT) !== CLOSE_BRACE &&
    body[at]! > 0x20
  )
    at++;
  return at;
}
/* eslint-enable @typescript-eslint/no-non-null-assertion */
