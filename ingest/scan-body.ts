import { jsonObject, type JsonObject } from '../events/json.ts';
import { MAX_BATCH_ITEMS } from '../events/rejections.ts';
import { parseRfc3339 } from '../events/rfc3339.ts';
import type { EventFields } from '../events/validate-event.ts';
import { MAX_KEYS } from '../events/values.ts';
import { JSON_BYTES } from '../events/json-bytes.ts';
import { NONE as NO_END, objectEnd, plainEnd, skipSpace, valueEnd } from '../events/json-ends.ts';
import type { BatchSlices, Slice } from './slice-items.ts';

const { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } = JSON_BYTES;

/** What a common body says, read without making values of it. */
export interface ScannedBody {
  /** The fields of its events, in order. */
  events: ScannedEvent[];
  /** Of a batch: its own. */
  sentAt: number | undefined;
  /** Of a batch: its own; undefined when absent. */
  context: JsonObject | undefined;
  /** Where a batch has its items, context and sent_at. */
  slices: BatchSlices;
}

/** The fields of an event. `context`: where it has its own; undefined when it has none. */
export type ScannedEvent = EventFields & { context: Slice | undefined };

// A constant of this module, as those of json-bytes.ts: an imported one is read anew at each use.
const NONE = NO_END;

/* eslint-disable @typescript-eslint/no-non-null-assertion -- indexes are bounded; a fallback for each byte halves the speed */

/**
 * Reads the fields of the events of a body and checks all of its JSON, in one pass over its bytes.
 * Undefined for a body that JSON.parse must read: one that is no JSON, has a field of another type,
 * escapes in a field or a key of it, a number with an exponent, or too much of something. What is
 * read is what JSON.parse would give. Its texts keep the text of the whole body in memory as long
 * as they live.
 */
export function scanBody(body: Buffer, shape: 'single' | 'batch'): ScannedBody | undefined {
  if (shape === 'single') return scanSingle(body);
  lastContext.view = new DataView(body.buffer, body.byteOffset, body.length);
  const scanned = scanBatch(body);
  lastContext.view = NO_BYTES;
  lastContext.start = lastContext.end = 0;
  return scanned;
}

function scanSingle(body: Buffer): ScannedBody | undefined {
  const end = eventEnd(body, skipSpace(body, 0));
  if (end === NONE || skipSpace(body, end) !== body.length) return undefined;
  const event = fieldsOf(body, body.toString('latin1', 0, end));
  return event && bodyOf(event);
}

const NO_SLICES: BatchSlices = { items: [], context: undefined, sentAt: undefined };

/** A body that is one event. */
export function bodyOf(event: ScannedEvent): ScannedBody {
  return { events: [event], sentAt: undefined, context: undefined, slices: NO_SLICES };
}

function scanBatch(body: Buffer): ScannedBody | undefined {
  const slices: BatchSlices = { items: [], context: undefined, sentAt: undefined };
  const events: ScannedEvent[] = [];
  const text = body.toString('latin1');
  let sentAt: number | undefined;
  let at = skipSpace(body, 0);
  if (body[at] !== OPEN_BRACE) return undefined;
  at = skipSpace(body, at + 1);
  for (;;) {
    if (body[at] !== QUOTE) return undefined;
    const keyEnd = plainEnd(body, at + 1);
    if (keyEnd === NONE) return undefined;
    const key = text.substring(at + 1, keyEnd);
    at = skipSpace(body, keyEnd + 1);
    if (body[at] !== COLON) return undefined;
    const start = skipSpace(body, at + 1);
    if (key === 'batch') {
      if (events.length > 0) return undefined;
      at = itemsEnd(body, text, start, events, slices.items);
    } else if (key === 'context') {
      if (slices.context || body[start] !== OPEN_BRACE) return undefined;
      at = objectEnd(body, start + 1, 1);
      slices.context = { start, end: at };
    } else if (key === 'sent_at') {
      if (slices.sentAt || body[start] !== QUOTE) return undefined;
      const end = plainEnd(body, start + 1);
      if (end === NONE) return undefined;
      sentAt = parseRfc3339(text.substring(start + 1, end));
      if (Number.isNaN(sentAt)) return undefined;
      at = end + 1;
      slices.sentAt = { start, end: at };
    } else at = valueEnd(body, start, 1);
    if (at === NONE) return undefined;
    at = skipSpace(body, at);
    if (body[at] === COMMA) {
      at = skipSpace(body, at + 1);
      continue;
    }
    if (body[at] !== CLOSE_BRACE || skipSpace(body, at + 1) !== body.length) return undefined;
    break;
  }
  if (events.length === 0) return undefined;
  const { context } = slices;
  return { events, sentAt, context: context && jsonObject(parseSlice(body, context)), slices };
}

/** The value that a slice of a scanned body has. */
export function parseSlice(body: Buffer, { start, end }: Slice): unknown {
  return JSON.parse(body.toString('utf8', start, end)) as unknown;
}

/** The end of the array of events that begins at `start`. */
function itemsEnd(
  body: Buffer,
  text: string,
  start: number,
  events: ScannedEvent[],
  slices: Slice[],
): number {
  if (body[start] !== OPEN_BRACKET) return NONE;
  let at = skipSpace(body, start + 1);
  for (;;) {
    const end = eventEnd(body, at);
    if (end === NONE || events.length === MAX_BATCH_ITEMS) return NONE;
    const event = fieldsOf(body, text);
    if (!event) return NONE;
    events.push(event);
    slices.push({ start: at, end });
    at = skipSpace(body, end);
    if (body[at] === COMMA) at = skipSpace(body, at + 1);
    else return body[at] === CLOSE_BRACKET ? at + 1 : NONE;
  }
}

/** Where the fields of an event are: start and end of each, both 0 when absent. */
const TYPE = 0;
const EVENT = 2;
const USER_ID = 4;
const ANONYMOUS_ID = 6;
const PREVIOUS_ID = 8;
const MESSAGE_ID = 10;
const TIMESTAMP = 12;
const SENT_AT = 14;
const TRAITS = 16;
const CONTEXT = 18;
const PROPERTIES = 20;
const PLACES = 22;
const OTHER = -1;
/** Those of the event that is being read. */
const places = new Int32Array(PLACES);

const KEYS: readonly (readonly [string, number])[] = [
  ['type', TYPE],
  ['event', EVENT],
  ['user_id', USER_ID],
  ['anonymous_id', ANONYMOUS_ID],
  ['previous_id', PREVIOUS_ID],
  ['message_id', MESSAGE_ID],
  ['timestamp', TIMESTAMP],
  ['sent_at', SENT_AT],
  ['traits', TRAITS],
  ['context', CONTEXT],
  ['properties', PROPERTIES],
];
/** Length and first byte tell the keys apart. */
const BY_KIND = new Int8Array(16 * 32).fill(OTHER);
const KEY_BYTES: Uint8Array[] = [];
for (const [key, place] of KEYS) {
  BY_KIND[key.length * 32 + (key.charCodeAt(0) & 31)] = place;
  KEY_BYTES[place / 2] = Buffer.from(key);
}

/** The field that the key between `start` and `end` names. */
function fieldAt(body: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length > 15 || length < 4) return OTHER;
  const place = BY_KIND[length * 32 + (body[start]! & 31)]!;
  if (place === OTHER) return OTHER;
  const key = KEY_BYTES[place >> 1]!;
  for (let at = 0; at < length; at++) if (key[at] !== body[start + at]) return OTHER;
  return place;
}

const NO_BYTES: DataView = new DataView(new ArrayBuffer(0));
/**
 * That of the event before, in the same batch: an SDK sends the same one with all events of a page.
 * Four bytes of it are compared at a time, where a scan reads one.
 */
const lastContext = { view: NO_BYTES, start: 0, end: 0 };

/** The end of the context whose brace is at `start`. */
function contextEnd(body: Uint8Array, start: number): number {
  const end = isLastContext(start)
    ? start + lastContext.end - lastContext.start
    : objectEnd(body, start + 1, 2);
  if (lastContext.view !== NO_BYTES && end !== NONE) {
    lastContext.start = start;
    lastContext.end = end;
  }
  return end;
}

/** Whether the bytes from `start` on are those of the last context: an object ends by itself. */
function isLastContext(start: number): boolean {
  const { view, start: first, end } = lastContext;
  const length = end - first;
  if (length === 0 || start + length > view.byteLength) return false;
  let at = 0;
  for (; at + 4 <= length; at += 4)
    if (view.getInt32(first + at) !== view.getInt32(start + at)) return false;
  for (; at < length; at++)
    if (view.getUint8(first + at) !== view.getUint8(start + at)) return false;
  return true;
}

/** The end of the event that begins at `start`; writes where its fields are. */
function eventEnd(body: Uint8Array, start: number): number {
  places.fill(0);
  if (body[start] !== OPEN_BRACE) return NONE;
  let at = skipSpace(body, start + 1);
  if (body[at] === CLOSE_BRACE) return at + 1;
  for (;;) {
    if (body[at] !== QUOTE) return NONE;
    const keyEnd = plainEnd(body, at + 1);
    if (keyEnd === NONE) return NONE;
    const field = fieldAt(body, at + 1, keyEnd);
    at = keyEnd + 1;
    if (body[at] !== COLON) {
      at = skipSpace(body, at);
      if (body[at] !== COLON) return NONE;
    }
    at = skipSpace(body, at + 1);
    if (field === OTHER) at = valueEnd(body, at, 2);
    else if (field < TRAITS) {
      if (body[at] !== QUOTE) return NONE;
      const end = plainEnd(body, at + 1);
      if (end === NONE) return NONE;
      places[field] = at + 1;
      places[field + 1] = end;
      at = end + 1;
    } else {
      if (body[at] !== OPEN_BRACE) return NONE;
      places[field] = at;
      if (field === CONTEXT) at = contextEnd(body, at);
      else if (field === PROPERTIES) at = objectEnd(body, at + 1, 2, MAX_KEYS);
      else at = objectEnd(body, at + 1, 2);
      places[field + 1] = at;
    }
    if (at === NONE) return NONE;
    if (body[at] !== COMMA) {
      at = skipSpace(body, at);
      if (body[at] !== COMMA) return body[at] === CLOSE_BRACE ? at + 1 : NONE;
    }
    at = skipSpace(body, at + 1);
  }
}

function fieldsOf(body: Buffer, text: string): ScannedEvent | undefined {
  const sent = timeAt(text, TIMESTAMP);
  const sentAt = timeAt(text, SENT_AT);
  if (Number.isNaN(sent) || Number.isNaN(sentAt)) return undefined;
  const traits = sliceAt(TRAITS);
  return {
    type: textAt(body, text, TYPE),
    event: textAt(body, text, EVENT),
    userId: textAt(body, text, USER_ID),
    anonymousId: textAt(body, text, ANONYMOUS_ID),
    previousId: textAt(body, text, PREVIOUS_ID),
    messageId: textAt(body, text, MESSAGE_ID),
    sent,
    sentAt,
    properties: undefined,
    traits: traits && (parseSlice(body, traits) as JsonObject),
    context: sliceAt(CONTEXT),
  };
}

function sliceAt(field: number): Slice | undefined {
  const end = places[field + 1]!;
  return end === 0 ? undefined : { start: places[field]!, end };
}

function textAt(body: Buffer, text: string, field: number): string {
  const end = places[field + 1]!;
  if (end === 0) return '';
  const start = places[field]!;
  let bits = 0;
  for (let at = start; at < end; at++) bits |= body[at]!;
  return bits < 0x80 ? text.substring(start, end) : body.toString('utf8', start, end);
}

/** NaN: no time. */
function timeAt(text: string, field: number): number | undefined {
  const end = places[field + 1]!;
  return end === 0 ? undefined : parseRfc3339(text.substring(places[field]!, end));
}

/* eslint-enable @typescript-eslint/no-non-null-assertion */
