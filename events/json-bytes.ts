/**
 * Bytes of JSON text. Scanners take them apart into constants of their own module: V8 reads an
 * imported binding anew at each use, and a scan took 1.6 times as long.
 */
export const JSON_BYTES = {
  QUOTE: 0x22,
  COMMA: 0x2c,
  COLON: 0x3a,
  OPEN_BRACKET: 0x5b,
  BACKSLASH: 0x5c,
  CLOSE_BRACKET: 0x5d,
  OPEN_BRACE: 0x7b,
  CLOSE_BRACE: 0x7d,
} as const;

/** A number of fewer characters is finite, unless it has an exponent. */
const MAX_FINITE_DIGITS = 308;

/** 1 for the characters that may follow a backslash, apart from `u`. */
const ESCAPED = new Uint8Array(256);
for (const character of '"\\/bfnrt') ESCAPED[character.charCodeAt(0)] = 1;

const LITERALS: readonly (Buffer | undefined)[] = Array.from({ length: 256 }, (_, byte) =>
  [Buffer.from('true'), Buffer.from('false'), Buffer.from('null')].find(
    (literal) => literal[0] === byte,
  ),
);

/** The end of the true, false or null that begins at `start`; undefined when there is none. */
export function literalEnd(body: Uint8Array, start: number): number | undefined {
  const literal = LITERALS[body[start] ?? 0];
  if (!literal || start + literal.length > body.length) return undefined;
  const end = start + literal.length;
  return literal.compare(body, start, end) === 0 ? end : undefined;
}

/** Length of the escape whose backslash is at `at`; 0 when JSON has no such escape. */
export function escapeLength(body: Uint8Array, at: number): number {
  const escaped = body[at + 1];
  if (escaped === 0x75) return isHex(body, at + 2) ? 6 : 0;
  return escaped !== undefined && ESCAPED[escaped] === 1 ? 2 : 0;
}

/** The end of the number that begins at `start`; undefined when JSON has no such number. */
export function numberEnd(body: Uint8Array, start: number): number | undefined {
  const whole = body[start] === 0x2d ? start + 1 : start;
  let at = body[whole] === 0x30 ? whole + 1 : digitsEnd(body, whole);
  if (at === whole) return undefined;
  if (body[at] === 0x2e) {
    const fraction = at + 1;
    at = digitsEnd(body, fraction);
    if (at === fraction) return undefined;
  }
  if (body[at] === 0x65 || body[at] === 0x45) {
    const isSigned = body[at + 1] === 0x2b || body[at + 1] === 0x2d;
    const exponent = at + (isSigned ? 2 : 1);
    at = digitsEnd(body, exponent);
    if (at === exponent) return undefined;
  }
  return at;
}

/** False for a number whose form alone shows that it is finite. */
export function mayBeInfinite(body: Uint8Array, start: number, end: number): boolean {
  if (end - start > MAX_FINITE_DIGITS) return true;
  for (let at = start; at < end; at++) if (body[at] === 0x65 || body[at] === 0x45) return true;
  return false;
}

function digitsEnd(body: Uint8Array, start: number): number {
  let at = start;
  while (isDigit(body[at])) at++;
  return at;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isHex(body: Uint8Array, start: number): boolean {
  for (let at = start; at < start + 4; at++) {
    const byte = body[at];
    if (byte === undefined) return false;
    const lower = byte | 0x20;
    if (!isDigit(byte) && !(lower >= 0x61 && lower <= 0x66)) return false;
  }
  return true;
}
