/**
 * Memory of scan-body.wasm, for both sides of it: 2 MiB, never more. A body begins at BODY_AT and
 * has zeros behind it; what a scan finds are numbers of 32 bits from FOUND_AT on. Only constants
 * may be here: AssemblyScript compiles this file, too.
 */
export const PAGES = 32;
export const FOUND_AT = 65536;
export const BODY_AT = 131072;
/** Zeros behind a body: a scan reads up to 16 bytes from its end on. */
export const MARGIN = 32;
export const MAX_BODY_BYTES = PAGES * 65536 - BODY_AT - MARGIN;

/** Those of a batch: start and end of each, 0 when absent. The strings of its events follow. */
export const BATCH_CONTEXT = 0;
export const BATCH_SENT_AT = 2;
/** Numbers before those of the first event. */
export const HEADER = 4;

/** Of an event: start and end of each field, 0 when absent. Texts come first. */
export const TYPE = 0;
export const EVENT = 2;
export const USER_ID = 4;
export const ANONYMOUS_ID = 6;
export const PREVIOUS_ID = 8;
export const MESSAGE_ID = 10;
export const TIMESTAMP = 12;
export const SENT_AT = 14;
export const TRAITS = 16;
export const CONTEXT = 18;
export const PROPERTIES = 20;
/** Where the event itself is. */
export const ITEM = 22;
/** A bit for each text, by half of its place: set when a byte of it is not ASCII. */
export const NOT_ASCII = 24;
/** A bit for each text: set when the event before has the same bytes there. */
export const SAME = 25;
/** Numbers of an event. */
export const EVENT_SIZE = 26;

/** MAX_BATCH_ITEMS */
export const MAX_EVENTS = 500;
/** MAX_KEYS: of properties. */
export const MAX_PROPERTIES = 256;
/** Deeper values are left to JSON.parse (events/json-ends.ts). */
export const MAX_DEPTH = 32;
