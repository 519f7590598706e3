import { JSON_BYTES } from '../json-bytes.ts';
import { NONE as NO_END, objectEnd, plainEnd, skipSpace, valueEnd } from '../json-ends.ts';
import { MAX_KEYS } from '../values.ts';
import type { RawRecord } from '../../schemas/records.ts';

const { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } = JSON_BYTES;

// A constant of this module, as those of json-bytes.ts: an imported one is read anew at each use.
const NONE = NO_END;

/** Where the fields of an event are in `ScannedBody.places`: begin and end, both 0 when absent. */
export const PLACE = {
  /** The event itself. */
  ITEM: 0,
  /** Texts, without their quotes. They have no escapes. */
  EVENT: 2,
  USER_ID: 4,
  ANONYMOUS_ID: 6,
  PREVIOUS_ID: 8,
  /** Objects, with their braces. */
  TRAITS: 10,
  CONTEXT: 12,
  PROPERTIES: 14,
} as const;
/** Numbers in `places` for each event. */
export const PLACES = 16;

/** Where a body has its events, without making values of them. */
export interface ScannedBody {
  /** Those of event n begin at n * PLACES. */
  places: readonly number[];
  /** The context of a batch: begin and end, both 0 when it has none. */
  contextStart: number;
  contextEnd: number;
}

/* eslint-disable @typescript-eslint/no-non-null-assertion -- indexes are bounded; a fallback for each byte halves the speed */

/**
 * Finds the events and their fields in the body of a raw record, and checks all of its JSON, in one
 * pass over the bytes from `from` to `to`. Undefined for a body that JSON.parse must
 * read: one that is no JSON, has a field of another type than an event may have, escapes in a field
 * or in a key beside it, an exponent, or too much of something.
 */
export function scanEvents(
  bytes: Uint8Array,
  { from, to, shape }: { from: number; to: number; shape: RawRecord['shape'] },
): ScannedBody | undefined {
  const places: number[] = [];
  if (shape === 'batch') return scanBatch(bytes, { from, to, places });
  const end = eventEnd(bytes, skipSpace(bytes, from), places);
  if (end === NONE || !isSpace(bytes, end, to)) return undefined;
  return { places, contextStart: 0, contextEnd: 0 };
}

/** Whether only space is left. What is behind `to` is not of the body, so `at` may be there. */
function isSpace(bytes: Uint8Array, start: number, to: number): boolean {
  return start === to || (start < to && skipSpace(bytes, start) >= to);
}

function scanBatch(
  bytes: Uint8Array,
  { from, to, places }: { from: number; to: number; places: number[] },
): ScannedBody | undefined {
  let hasBatch = false;
  let contextStart = 0;
  let contextEnd = 0;
  let at = skipSpace(bytes, from);
  if (bytes[at] !== OPEN_BRACE) return undefined;
  at = skipSpace(bytes, at + 1);
  for (;;) {
    if (bytes[at] !== QUOTE) return undefined;
    const key = at + 1;
    const keyEnd = plainEnd(bytes, key);
    if (keyEnd === NONE) return undefined;
    at = skipSpace(bytes, keyEnd + 1);
    if (bytes[at] !== COLON) return undefined;
    const start = skipSpace(bytes, at + 1);
    if (isKey(bytes, key, keyEnd, BATCH)) {
      if (hasBatch) return undefined;
      hasBatch = true;
      at = itemsEnd(bytes, start, places);
    } else if (isKey(bytes, key, keyEnd, CONTEXT)) {
      if (contextEnd > 0 || bytes[start] !== OPEN_BRACE) return undefined;
      at = objectEnd(bytes, start + 1, 1);
      contextStart = start;
      contextEnd = at;
    } else at = valueEnd(bytes, start, 1);
    if (at === NONE) return undefined;
    at = skipSpace(bytes, at);
    if (bytes[at] === COMMA) {
      at = skipSpace(bytes, at + 1);
      continue;
    }
    if (bytes[at] !== CLOSE_BRACE || !isSpace(bytes, at + 1, to)) return undefined;
    return hasBatch ? { places, contextStart, contextEnd } : undefined;
  }
}

/** The end of the array of events that begins at `start`. */
function itemsEnd(bytes: Uint8Array, start: number, places: number[]): number {
  if (bytes[start] !== OPEN_BRACKET) return NONE;
  let at = skipSpace(bytes, start + 1);
  for (;;) {
    const end = eventEnd(bytes, at, places);
    if (end === NONE) return NONE;
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
    else return bytes[at] === CLOSE_BRACKET ? at + 1 : NONE;
  }
}

const BATCH = Buffer.from('batch');
const CONTEXT = Buffer.from('context');
const OTHER = -1;
const FIRST_OBJECT: number = PLACE.TRAITS;
const PROPERTIES: number = PLACE.PROPERTIES;
const ALL: number = PLACES;

/** Length and first byte distinguish the keys. */
const BY_KIND = new Int8Array(16 * 32).fill(OTHER);
const KEYS: Uint8Array[] = [];
for (const [key, place] of [
  ['event', PLACE.EVENT],
  ['user_id', PLACE.USER_ID],
  ['anonymous_id', PLACE.ANONYMOUS_ID],
  ['previous_id', PLACE.PREVIOUS_ID],
  ['traits', PLACE.TRAITS],
  ['context', PLACE.CONTEXT],
  ['properties', PLACE.PROPERTIES],
] as const) {
  BY_KIND[key.length * 32 + (key.charCodeAt(0) & 31)] = place;
  KEYS[place / 2] = Buffer.from(key);
}

/** The field that the key between `start` and `end` names. */
function fieldAt(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length > 15) return OTHER;
  const place = BY_KIND[length * 32 + (bytes[start]! & 31)]!;
  return place !== OTHER && isKey(bytes, start, end, KEYS[place >> 1]!) ? place : OTHER;
}

function isKey(bytes: Uint8Array, start: number, end: number, key: Uint8Array): boolean {
  const length = end - start;
  if (length !== key.length) return false;
  for (let at = 0; at < length; at++) if (key[at] !== bytes[start + at]) return false;
  return true;
}

/** The end of the event that begins at `start`; appends where its fields are. */
function eventEnd(bytes: Uint8Array, start: number, places: number[]): number {
  if (bytes[start] !== OPEN_BRACE) return NONE;
  const first = places.length;
  for (let place = 0; place < ALL; place++) places.push(0);
  places[first] = start;
  let at = skipSpace(bytes, start + 1);
  if (bytes[at] === CLOSE_BRACE) return (places[first + 1] = at + 1);
  for (;;) {
    if (bytes[at] !== QUOTE) return NONE;
    const keyEnd = plainEnd(bytes, at + 1);
    if (keyEnd === NONE) return NONE;
    const field = fieldAt(bytes, at + 1, keyEnd);
    at = keyEnd + 1;
    if (bytes[at] !== COLON) {
      at = skipSpace(bytes, at);
      if (bytes[at] !== COLON) return NONE;
    }
    at = skipSpace(bytes, at + 1);
    if (field === OTHER) at = valueEnd(bytes, at, 2);
    else if (field < FIRST_OBJECT) {
      if (bytes[at] !== QUOTE) return NONE;
      const end = plainEnd(bytes, at + 1);
      if (end === NONE) return NONE;
      places[first + field] = at + 1;
      places[first + field + 1] = end;
      at = end + 1;
    } else {
      if (bytes[at] !== OPEN_BRACE) return NONE;
      places[first + field] = at;
      at =
        field === PROPERTIES ? objectEnd(bytes, at + 1, 2, MAX_KEYS) : objectEnd(bytes, at + 1, 2);
      places[first + field + 1] = at;
    }
    if (at === NONE) return NONE;
    if (bytes[at] !== COMMA) {
      at = skipSpace(bytes, at);
      if (bytes[at] !== COMMA)
        return bytes[at] === CLOSE_BRACE ? (places[first + 1] = at + 1) : NONE;
    }
    at = skipSpace(bytes, at + 1);
  }
}
/* eslint-enable @typescript-eslint/no-non-null-assertion */
