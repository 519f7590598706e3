// AssemblyScript: see scan-body.as.ts. The same rules as in scan-body.ts.
import { isEqual, keyEnd, NONE, plainEnd, skipSpace, wasNotAscii } from './bytes.as';
import {
  ANONYMOUS_ID,
  BODY_AT,
  CONTEXT,
  EVENT,
  EVENT_SIZE,
  FOUND_AT,
  HEADER,
  ITEM,
  MAX_EVENTS,
  MAX_PROPERTIES,
  MESSAGE_ID,
  NOT_ASCII,
  PREVIOUS_ID,
  PROPERTIES,
  SAME,
  SENT_AT,
  TIMESTAMP,
  TRAITS,
  TYPE,
  USER_ID,
} from './scan-layout';
import { ANY, objectEnd, valueEnd } from './values.as';

const OTHER: i32 = -1;
/** Bytes of an event's numbers. */
const EVENT_BYTES: usize = EVENT_SIZE * 4;
const FIRST_EVENT: usize = FOUND_AT + HEADER * 4;
/** An event without fields, behind the last one: the first of a body is compared with it. */
const NO_EVENT: usize = FIRST_EVENT + (MAX_EVENTS as usize) * EVENT_BYTES;

/** The context of the event before, in the same body. */
let contextAt: usize = 0;
let contextLength: usize = 0;
/** Where the body ends. */
let bodyEnd: usize = 0;

export function beginBody(end: usize): void {
  bodyEnd = end;
  contextLength = 0;
  memory.fill(NO_EVENT, 0, EVENT_BYTES);
}

/** The end of the only event of a body, which begins at `start`. */
export function singleEnd(start: usize): usize {
  return eventEnd(start, FIRST_EVENT, NO_EVENT);
}

let events: i32 = 0;

/** Those of the last array. */
export function eventCount(): i32 {
  return events;
}

/** The end of the array of events that begins at `start`. */
export function itemsEnd(start: usize): usize {
  events = 0;
  if (load<u8>(start) != 0x5b) return NONE;
  let at = skipSpace(start + 1);
  let found = FIRST_EVENT;
  let before = NO_EVENT;
  while (true) {
    if (events == MAX_EVENTS) return NONE;
    at = eventEnd(at, found, before);
    if (at == NONE) return NONE;
    events++;
    before = found;
    found += EVENT_BYTES;
    at = skipSpace(at);
    if (load<u8>(at) == 0x2c) at = skipSpace(at + 1);
    else return load<u8>(at) == 0x5d ? at + 1 : NONE;
  }
}

/** The end of the event that begins at `start`; writes what is found of it. */
function eventEnd(start: usize, found: usize, before: usize): usize {
  memory.fill(found, 0, EVENT_BYTES);
  if (load<u8>(start) != 0x7b) return NONE;
  let at = skipSpace(start + 1);
  if (load<u8>(at) == 0x7d) {
    writePlace(found, ITEM, start, at + 1);
    return at + 1;
  }
  let notAscii = 0;
  let same = 0;
  while (true) {
    if (load<u8>(at) != 0x22) return NONE;
    const end = keyEnd(at + 1);
    if (end == NONE) return NONE;
    const field = fieldOf(at + 1, (end - at - 1) as i32);
    at = end + 1;
    if (load<u8>(at) != 0x3a) {
      at = skipSpace(at);
      if (load<u8>(at) != 0x3a) return NONE;
    }
    at = skipSpace(at + 1);
    if (field == OTHER) at = valueEnd(at, 2);
    else if (field < TRAITS) {
      if (load<u8>(at) != 0x22) return NONE;
      const first = at + 1;
      const last = plainEnd(first);
      if (last == NONE) return NONE;
      writePlace(found, field, first, last);
      const bit = 1 << (field >> 1);
      notAscii = wasNotAscii() != 0 ? notAscii | bit : notAscii & ~bit;
      same = isSame(before, field, first, last) ? same | bit : same & ~bit;
      at = last + 1;
    } else {
      if (load<u8>(at) != 0x7b) return NONE;
      const first = at;
      if (field == CONTEXT) at = contextEnd(at);
      else at = objectEnd(at + 1, 2, field == PROPERTIES ? MAX_PROPERTIES : ANY);
      writePlace(found, field, first, at);
    }
    if (at == NONE) return NONE;
    if (load<u8>(at) != 0x2c) {
      at = skipSpace(at);
      if (load<u8>(at) != 0x2c) {
        if (load<u8>(at) != 0x7d) return NONE;
        writePlace(found, ITEM, start, at + 1);
        store<i32>(found + (NOT_ASCII << 2), notAscii);
        store<i32>(found + (SAME << 2), same);
        return at + 1;
      }
    }
    at = skipSpace(at + 1);
  }
}

/** Start and end, counted from the start of the body. */
export function writePlace(found: usize, place: i32, start: usize, end: usize): void {
  const at = found + ((place as usize) << 2);
  store<i32>(at, (start - BODY_AT) as i32);
  store<i32>(at, (end - BODY_AT) as i32, 4);
}

/** Whether the event before has the same bytes in a field. */
function isSame(before: usize, field: i32, start: usize, end: usize): bool {
  const place = before + ((field as usize) << 2);
  const first = load<i32>(place) as usize;
  const length = end - start;
  if (first == 0 || (load<i32>(place, 4) as usize) - first != length) return false;
  return isEqual((BODY_AT as usize) + first, start, length);
}

/** The end of the context whose brace is at `start`: an object ends by itself. */
function contextEnd(start: usize): usize {
  const length = contextLength;
  if (length != 0 && start + length <= bodyEnd && isEqual(contextAt, start, length)) {
    contextAt = start;
    return start + length;
  }
  const end = objectEnd(start + 1, 2, ANY);
  if (end != NONE) {
    contextAt = start;
    contextLength = end - start;
  }
  return end;
}

/** The field that a key names, by its little-endian words. */
function fieldOf(key: usize, length: i32): i32 {
  const word = load<u32>(key);
  switch (length) {
    case 4:
      return word == 0x65707974 ? TYPE : OTHER;
    case 5: // even, t
      return word == 0x6e657665 && load<u8>(key, 4) == 0x74 ? EVENT : OTHER;
    case 6: // trai, ts
      return word == 0x69617274 && load<u16>(key, 4) == 0x7374 ? TRAITS : OTHER;
    case 7: {
      const rest = load<u32>(key, 3);
      if (word == 0x72657375 && rest == 0x64695f72) return USER_ID; // user, r_id
      if (word == 0x746e6f63 && rest == 0x74786574) return CONTEXT; // cont, text
      return word == 0x746e6573 && rest == 0x74615f74 ? SENT_AT : OTHER; // sent, t_at
    }
    case 9: // timestam, p
      return load<u64>(key) == 0x6d617473656d6974 && load<u8>(key, 8) == 0x70 ? TIMESTAMP : OTHER;
    case 10: {
      const long = load<u64>(key);
      const rest = load<u16>(key, 8);
      if (long == 0x5f6567617373656d && rest == 0x6469) return MESSAGE_ID; // message_, id
      return long == 0x69747265706f7270 && rest == 0x7365 ? PROPERTIES : OTHER; // properti, es
    }
    case 11: // previous, s_id
      return load<u64>(key) == 0x73756f6976657270 && load<u32>(key, 7) == 0x64695f73
        ? PREVIOUS_ID
        : OTHER;
    case 12: // anonymou, s_id
      return load<u64>(key) == 0x756f6d796e6f6e61 && load<u32>(key, 8) == 0x64695f73
        ? ANONYMOUS_ID
        : OTHER;
  }
  return OTHER;
}
