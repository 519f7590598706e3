import { escapeLength, JSON_BYTES, literalEnd, mayBeInfinite, numberEnd } from './json-bytes.ts';

const { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } =
  JSON_BYTES;

/** Deeper values have no end that is found. */
const MAX_DEPTH = 32;
/** There is no such value, or one that is not common: JSON.parse must read it. */
export const NONE = -1;

/* eslint-disable @typescript-eslint/no-non-null-assertion -- indexes are bounded; a fallback for each byte halves the speed */

/** The quote behind a string without escapes. */
export function plainEnd(body: Uint8Array, start: number): number {
  const { length } = body;
  for (let at = start; at < length; at++) {
    const byte = body[at]!;
    if (byte === QUOTE) return at;
    if (byte < 0x20 || byte === BACKSLASH) return NONE;
  }
  return NONE;
}

/** The end of the value that begins at `start`. */
export function valueEnd(body: Uint8Array, start: number, depth: number): number {
  const byte = body[start]!;
  if (byte === QUOTE) return stringEnd(body, start + 1);
  if (byte === OPEN_BRACE)
    return depth === MAX_DEPTH ? NONE : objectEnd(body, start + 1, depth + 1);
  if (byte === OPEN_BRACKET)
    return depth === MAX_DEPTH ? NONE : arrayEnd(body, start + 1, depth + 1);
  return scalarEnd(body, start);
}

export function objectEnd(body: Uint8Array, start: number, depth: number, most = Infinity): number {
  let members = 0;
  let at = skipSpace(body, start);
  if (body[at] === CLOSE_BRACE) return at + 1;
  for (;;) {
    if (body[at] !== QUOTE || ++members > most) return NONE;
    at = stringEnd(body, at + 1);
    if (at === NONE) return NONE;
    if (body[at] !== COLON) {
      at = skipSpace(body, at);
      if (body[at] !== COLON) return NONE;
    }
    at++;
    if (body[at]! <= 0x20) at = skipSpace(body, at);
    at = body[at] === QUOTE ? stringEnd(body, at + 1) : valueEnd(body, at, depth);
    if (at === NONE) return NONE;
    if (body[at] !== COMMA) {
      at = skipSpace(body, at);
      if (body[at] !== COMMA) return body[at] === CLOSE_BRACE ? at + 1 : NONE;
    }
    at++;
    if (body[at]! <= 0x20) at = skipSpace(body, at);
  }
}

function arrayEnd(body: Uint8Array, start: number, depth: number): number {
  let at = skipSpace(body, start);
  if (body[at] === CLOSE_BRACKET) return at + 1;
  for (;;) {
    at = valueEnd(body, at, depth);
    if (at === NONE) return NONE;
    at = skipSpace(body, at);
    if (body[at] === COMMA) at = skipSpace(body, at + 1);
    else return body[at] === CLOSE_BRACKET ? at + 1 : NONE;
  }
}

/** The end of a string, whose escapes are checked. */
function stringEnd(body: Uint8Array, start: number): number {
  const { length } = body;
  let at = start;
  while (at < length) {
    const byte = body[at++]!;
    if (byte === QUOTE) return at;
    if (byte < 0x20) return NONE;
    if (byte === BACKSLASH) {
      const escape = escapeLength(body, at - 1);
      if (escape === 0) return NONE;
      at += escape - 1;
    }
  }
  return NONE;
}

function scalarEnd(body: Uint8Array, start: number): number {
  const byte = body[start]!;
  if (byte > 0x39) return literalEnd(body, start) ?? NONE;
  const end = numberEnd(body, start);
  return end === undefined || mayBeInfinite(body, start, end) ? NONE : end;
}

export function skipSpace(body: Uint8Array, start: number): number {
  let at = start;
  for (let byte = body[at]!; byte <= 0x20; byte = body[++at]!)
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
  return at;
}
/* eslint-enable @typescript-eslint/no-non-null-assertion */
