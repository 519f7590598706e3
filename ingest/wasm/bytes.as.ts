// AssemblyScript: see scan-body.as.ts.

/** There is no such end: the value is malformed, or JSON.parse must read it. */
export const NONE: usize = 0;

/** 1 when a byte of the last plain string is not ASCII. */
let notAscii: i32 = 0;

export function wasNotAscii(): i32 {
  return notAscii;
}

/** A bit for each of 16 bytes that is a quote, a backslash or a control character, as zero is. */
function stops(bytes: v128): i32 {
  return i8x16.bitmask(
    v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c))),
      i8x16.eq(i8x16.min_u(bytes, i8x16.splat(0x1f)), bytes),
    ),
  );
}

/** The quote behind a string without escapes; says whether it is ASCII. */
export function plainEnd(start: usize): usize {
  let at = start;
  let high = 0;
  while (true) {
    const bytes = v128.load(at);
    const found = stops(bytes);
    if (found != 0) {
      const before = ctz(found);
      high |= i8x16.bitmask(bytes) & ((1 << before) - 1);
      notAscii = i32(high != 0);
      at += before;
      return load<u8>(at) == 0x22 ? at : NONE;
    }
    high |= i8x16.bitmask(bytes);
    at += 16;
  }
}

/** The quote behind a key without escapes. */
export function keyEnd(start: usize): usize {
  const at = stopAt(start);
  return load<u8>(at) == 0x22 ? at : NONE;
}

/** The end of a string, whose escapes are checked. */
export function stringEnd(start: usize): usize {
  const at = stopAt(start);
  return load<u8>(at) == 0x22 ? at + 1 : escapedEnd(at);
}

function stopAt(start: usize): usize {
  let at = start;
  while (true) {
    const found = stops(v128.load(at));
    if (found != 0) return at + ctz(found);
    at += 16;
  }
}

/** The end of a string, from the first byte of it that is not plain. */
function escapedEnd(from: usize): usize {
  let at = from;
  while (true) {
    const byte = load<u8>(at);
    if (byte == 0x22) return at + 1;
    if (byte != 0x5c) return NONE;
    const next = load<u8>(at, 1);
    if (next == 0x75) {
      // One after the other: the first that is no digit may be behind the body.
      if (!isHex(load<u8>(at, 2)) || !isHex(load<u8>(at, 3))) return NONE;
      if (!isHex(load<u8>(at, 4)) || !isHex(load<u8>(at, 5))) return NONE;
      at += 6;
    } else {
      if (!isEscape(next)) return NONE;
      at += 2;
    }
    at = stopAt(at);
  }
}

function isHex(byte: u32): bool {
  return byte - 0x30 < 10 || (byte | 0x20) - 0x61 < 6;
}

/** One of `"\/bfnrt`. */
function isEscape(byte: u32): bool {
  if (byte == 0x22 || byte == 0x5c || byte == 0x2f) return true;
  return byte == 0x62 || byte == 0x66 || byte == 0x6e || byte == 0x72 || byte == 0x74;
}

export function skipSpace(at: usize): usize {
  return load<u8>(at) > 0x20 ? at : spaceEnd(at);
}

function spaceEnd(start: usize): usize {
  let at = start;
  while (true) {
    const byte = load<u8>(at);
    if (byte != 0x20 && byte != 0x0a && byte != 0x0d && byte != 0x09) return at;
    at++;
  }
}

/** Whether so many bytes are the same at both places. Reads up to 15 bytes more. */
export function isEqual(one: usize, other: usize, length: usize): bool {
  let left = length;
  let a = one;
  let b = other;
  while (left >= 16) {
    if (!i8x16.all_true(i8x16.eq(v128.load(a), v128.load(b)))) return false;
    a += 16;
    b += 16;
    left -= 16;
  }
  if (left == 0) return true;
  const wanted = (1 << (left as i32)) - 1;
  return (i8x16.bitmask(i8x16.eq(v128.load(a), v128.load(b))) & wanted) == wanted;
}
