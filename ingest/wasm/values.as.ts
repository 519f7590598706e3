// AssemblyScript: see scan-body.as.ts. The same rules as in events/json-ends.ts.
import { NONE, skipSpace, stringEnd } from './bytes.as';
import { MAX_DEPTH } from './scan-layout';

/** Members of an object that are too many for none. */
export const ANY: i32 = i32.MAX_VALUE;
/** A number of fewer characters is finite, unless it has an exponent. */
const MAX_FINITE_DIGITS: usize = 308;

/** The end of the value that begins at `start`. */
export function valueEnd(start: usize, depth: i32): usize {
  const byte = load<u8>(start);
  if (byte == 0x22) return stringEnd(start + 1);
  if (byte == 0x7b) return depth == MAX_DEPTH ? NONE : objectEnd(start + 1, depth + 1, ANY);
  if (byte == 0x5b) return depth == MAX_DEPTH ? NONE : arrayEnd(start + 1, depth + 1);
  return scalarEnd(start);
}

/** @param most members that it may have */
export function objectEnd(start: usize, depth: i32, most: i32): usize {
  let members = 0;
  let at = skipSpace(start);
  if (load<u8>(at) == 0x7d) return at + 1;
  while (true) {
    if (load<u8>(at) != 0x22 || ++members > most) return NONE;
    at = stringEnd(at + 1);
    if (at == NONE) return NONE;
    if (load<u8>(at) != 0x3a) {
      at = skipSpace(at);
      if (load<u8>(at) != 0x3a) return NONE;
    }
    at = skipSpace(at + 1);
    at = load<u8>(at) == 0x22 ? stringEnd(at + 1) : valueEnd(at, depth);
    if (at == NONE) return NONE;
    if (load<u8>(at) != 0x2c) {
      at = skipSpace(at);
      if (load<u8>(at) != 0x2c) return load<u8>(at) == 0x7d ? at + 1 : NONE;
    }
    at = skipSpace(at + 1);
  }
}

function arrayEnd(start: usize, depth: i32): usize {
  let at = skipSpace(start);
  if (load<u8>(at) == 0x5d) return at + 1;
  while (true) {
    at = valueEnd(at, depth);
    if (at == NONE) return NONE;
    at = skipSpace(at);
    if (load<u8>(at) == 0x2c) at = skipSpace(at + 1);
    else return load<u8>(at) == 0x5d ? at + 1 : NONE;
  }
}

function scalarEnd(start: usize): usize {
  let at = start;
  if (load<u8>(at) > 0x39) return literalEnd(at);
  if (load<u8>(at) == 0x2d) at++;
  if (load<u8>(at) == 0x30) at++;
  else {
    if (!isDigit(at)) return NONE;
    at = digitsEnd(at);
  }
  if (load<u8>(at) == 0x2e) {
    at++;
    if (!isDigit(at)) return NONE;
    at = digitsEnd(at);
  }
  const hasExponent = (load<u8>(at) | 0x20) == 0x65;
  return hasExponent || at - start > MAX_FINITE_DIGITS ? NONE : at;
}

/** The end of true, false or null. */
function literalEnd(start: usize): usize {
  const word = load<u32>(start);
  if (word == 0x65757274 || word == 0x6c6c756e) return start + 4;
  return word == 0x736c6166 && load<u8>(start, 4) == 0x65 ? start + 5 : NONE;
}

function isDigit(at: usize): bool {
  return (load<u8>(at) as u32) - 0x30 < 10;
}

function digitsEnd(start: usize): usize {
  let at = start;
  while (isDigit(at)) at++;
  return at;
}
