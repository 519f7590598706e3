/** Where a JSON value stands in a body: from `start` up to and without `end`. */
export interface Slice {
  start: number;
  end: number;
}

export interface BatchSlices {
  /** The items of `batch`, in order. */
  items: Slice[];
  context: Slice | undefined;
  sentAt: Slice | undefined;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** `[` and `{` differ in this bit only, and so do `]` and `}`. */
const BRACE_BIT = 0x20;

/* eslint-disable @typescript-eslint/no-non-null-assertion -- the scanner runs over valid JSON and stops at its ends; a fallback for each byte halves its speed */

/**
 * Finds the byte slices of a batch's items without decoding them, so that they can be handed on as
 * they came. The body must be one that JSON.parse took, and an object whose `batch` is an array. As
 * with JSON.parse the last one of equal keys counts.
 */
export function sliceItems(body: Uint8Array): BatchSlices {
  const slices: BatchSlices = { items: [], context: undefined, sentAt: undefined };
  let at = skipSpace(body, skipSpace(body, 0) + 1);
  while (at < body.length && body[at] !== CLOSE_BRACE) {
    const keyEnd = skipString(body, at);
    const key = keyOf(body, at, keyEnd);
    const start = skipSpace(body, skipSpace(body, keyEnd) + 1);
    let end: number;
    if (key === 'batch') {
      slices.items = [];
      end =
        body[start] === OPEN_BRACKET
          ? skipArray(body, start, slices.items)
          : skipValue(body, start);
    } else {
      end = skipValue(body, start);
      if (key === 'context') slices.context = { start, end };
      else if (key === 'sent_at') slices.sentAt = { start, end };
    }
    at = skipSpace(body, end);
    if (body[at] === COMMA) at = skipSpace(body, at + 1);
  }
  return slices;
}

/** The key whose string begins at `start`: only those that matter are decoded. */
function keyOf(body: Uint8Array, start: number, end: number): string | undefined {
  let isEscaped = false;
  for (let at = start; at < end; at++) isEscaped ||= body[at] === BACKSLASH;
  if (!isEscaped && end - start > 9) return undefined;
  return JSON.parse(
    Buffer.from(body.buffer, body.byteOffset + start, end - start).toString(),
  ) as string;
}

/** Behind the array that begins at `start`; its items are noted. */
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

/** Behind the value that begins at `start`. */
function skipValue(body: Uint8Array, start: number): number {
  const first = body[start]!;
  if (first === QUOTE) return skipString(body, start);
  return (first | BRACE_BIT) === OPEN_BRACE ? skipNested(body, start) : skipScalar(body, start);
}

/** Behind the string whose quote stands at `start`. */
function skipString(body: Uint8Array, start: number): number {
  let at = start + 1;
  for (let byte = body[at]; byte !== QUOTE && at < body.length; byte = body[at])
    at += byte === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** Behind the object or array that begins at `start`. Most bytes of a batch pass through here. */
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

/** Behind the number, true, false or null that begins at `start`. */
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
