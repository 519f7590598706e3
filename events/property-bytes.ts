import type { AvroWriter } from '../schemas/avro-writer.ts';
import { JSON_BYTES } from './json-bytes.ts';
import { skipSpace, valueEnd } from './json-ends.ts';
import { MAX_KEY_BYTES } from './keys.ts';
import { normalEnd } from './normal-bytes.ts';
import { textOf } from './properties.ts';
import { currencyOf, revenueOf, type Amounts } from './revenue.ts';
import { MAX_KEYS, MAX_VALUE_BYTES } from './values.ts';

const { CLOSE_BRACE, COMMA, QUOTE } = JSON_BYTES;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const FALSE = 0x66;
const NULL = 0x6e;
const TRUE = 0x74;
const UNDERSCORE = 0x5f;
/** Avro writes the count of a map of so many entries as one byte. */
const MAX_ENTRIES = 63;
/** A whole number of so many digits is exact, and its text is its shortest one. */
const MAX_DIGITS = 15;

const NO_KEY = 0;
const INNER = 1;
const ALPHABETIC = 2;

/** What a key may have that is stored as it is: first one of a to z, then also digits and `_`. */
const KEY_BYTE = new Uint8Array(256);
KEY_BYTE.fill(ALPHABETIC, 0x41, 0x5b).fill(ALPHABETIC, 0x61, 0x7b).fill(INNER, 0x30, 0x3a);
KEY_BYTE[UNDERSCORE] = INNER;

/**
 * Slots for the hashes of the keys of an event. Some are always free: a body that was scanned has
 * at most MAX_KEYS, a power of two. Keys of equal hash count as a repeated one.
 */
const SLOTS = 2 * MAX_KEYS;

/** Keys that decide about revenue and currency. */
const KNOWN = (['revenue', 'total', 'value', 'price', 'quantity', 'currency'] as const).map(
  (name) => ({ name, bytes: Buffer.from(name) }),
);

/** No end: the value is one that is not stored. */
const NOT_STORED = -1;

/* eslint-disable @typescript-eslint/no-non-null-assertion -- indexes are bounded; a fallback for each byte halves the speed */

/**
 * Writes the properties of an event as normaliseProperties and RowEncoder do (ingest 2.3), from the
 * bytes of their JSON object: most keys, texts and whole numbers are stored as they were sent.
 */
export class PropertyWriter {
  readonly #hashes = new Int32Array(SLOTS);
  /** By slot: the number of the object that filled it last. */
  readonly #filledBy = new Float64Array(SLOTS);
  #object = 0;
  /** The key that is being written. */
  #key = 0;
  #keyEnd = 0;
  /** property_numbers: begin and end of each key, and its number. */
  readonly #numberKeys = new Int32Array(2 * MAX_ENTRIES);
  readonly #numbers = new Float64Array(MAX_ENTRIES);
  #numberCount = 0;
  readonly #amounts: Amounts = { revenue: 0, total: 0, value: 0, price: 0, quantity: 0 };
  #currency: string | undefined;

  /**
   * Writes both maps of the object that begins at `start` and is valid JSON. False when a value
   * must be made of it: it has a key that is changed, repeated or like an index, or many entries.
   * What was written is then for the caller to discard.
   */
  write(bytes: Buffer, start: number, to: AvroWriter): boolean {
    this.#begin();
    const countAt = to.reserveByte();
    let count = 0;
    let at = skipSpace(bytes, start + 1);
    while (bytes[at] !== CLOSE_BRACE) {
      if (!this.#readKey(bytes, at + 1)) return false;
      // Behind the colon.
      at = skipSpace(bytes, skipSpace(bytes, this.#keyEnd + 1) + 1);
      if (bytes[at] === NULL) at += 4;
      else {
        if (count++ === MAX_ENTRIES) return false;
        at = this.#entryEnd(bytes, at, to);
        if (at === NOT_STORED) return false;
      }
      if (bytes[at] !== COMMA) at = skipSpace(bytes, at);
      if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
    }
    to.setByte(countAt, 2 * count);
    if (count > 0) to.long(0);
    this.#writeNumbers(bytes, to);
    return true;
  }

  /** Writes both maps of an event without properties. */
  writeNone(to: AvroWriter): void {
    this.#begin();
    to.long(0);
    to.long(0);
  }

  /** Of the properties that were written last. */
  get revenue(): number {
    return revenueOf(this.#amounts);
  }

  /** Of the properties that were written last. */
  get currency(): string {
    return currencyOf(this.#currency);
  }

  #begin(): void {
    this.#object++;
    this.#numberCount = 0;
    const amounts = this.#amounts;
    amounts.revenue = amounts.total = amounts.value = amounts.price = amounts.quantity = 0;
    this.#currency = undefined;
  }

  /** False for a key that is not stored as it is, or was there before. */
  #readKey(bytes: Uint8Array, start: number): boolean {
    const end = storedKeyEnd(bytes, start);
    if (end === 0) return false;
    let hash = 0;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
    this.#key = start;
    this.#keyEnd = end;
    let slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
    while (this.#filledBy[slot] === this.#object) {
      if (this.#hashes[slot] === hash) return false;
      slot = (slot + 1) & (SLOTS - 1);
    }
    this.#filledBy[slot] = this.#object;
    this.#hashes[slot] = hash;
    return true;
  }

  /** Writes an entry of the first map, and returns the end of its value. */
  #entryEnd(bytes: Buffer, start: number, to: AvroWriter): number {
    const byte = bytes[start]!;
    if (byte === QUOTE) {
      const end = normalEnd(bytes, start + 1);
      if (end > 0 && end - start - 1 <= MAX_VALUE_BYTES) {
        to.encodedString(bytes, this.#key, this.#keyEnd);
        to.encodedString(bytes, start + 1, end);
        if (knownName(bytes, this.#key, this.#keyEnd) === 'currency')
          this.#currency = bytes.toString('utf8', start + 1, end);
        return end + 1;
      }
    } else if (byte <= NINE) {
      const end = wholeNumberEnd(bytes, start);
      if (end > 0) {
        to.encodedString(bytes, this.#key, this.#keyEnd);
        to.encodedString(bytes, start, end);
        const number = wholeNumber(bytes, start, end);
        this.#addNumber(number);
        this.#addAmount(bytes, number, start, end);
        return end;
      }
    } else if (byte === TRUE || byte === FALSE) {
      const end = byte === TRUE ? start + 4 : start + 5;
      to.encodedString(bytes, this.#key, this.#keyEnd);
      to.encodedString(bytes, start, end);
      this.#addNumber(byte === TRUE ? 1 : 0);
      if (knownName(bytes, this.#key, this.#keyEnd) === 'currency')
        this.#currency = bytes.toString('utf8', start, end);
      return end;
    }
    return this.#otherEnd(bytes, start, to);
  }

  #otherEnd(bytes: Buffer, start: number, to: AvroWriter): number {
    const end = valueEnd(bytes, start, 0);
    const value: unknown = JSON.parse(bytes.toString('utf8', start, end));
    const text = textOf(value);
    if (text === undefined) return NOT_STORED;
    to.encodedString(bytes, this.#key, this.#keyEnd);
    to.string(text);
    const name = knownName(bytes, this.#key, this.#keyEnd);
    if (name === 'currency') this.#currency = text;
    if (typeof value === 'number') {
      const number = value + 0;
      this.#addNumber(number);
      if (name !== undefined && name !== 'currency') this.#amounts[name] = number;
    }
    return end;
  }

  #addNumber(number: number): void {
    const at = this.#numberCount++;
    this.#numberKeys[2 * at] = this.#key;
    this.#numberKeys[2 * at + 1] = this.#keyEnd;
    this.#numbers[at] = number;
  }

  /** A number that is written as its digits are, from `start` to `end`. */
  #addAmount(bytes: Buffer, number: number, start: number, end: number): void {
    const name = knownName(bytes, this.#key, this.#keyEnd);
    if (name === 'currency') this.#currency = bytes.toString('latin1', start, end);
    else if (name !== undefined) this.#amounts[name] = number;
  }

  #writeNumbers(bytes: Uint8Array, to: AvroWriter): void {
    const count = this.#numberCount;
    if (count > 0) to.long(count);
    for (let at = 0; at < count; at++) {
      to.encodedString(bytes, this.#numberKeys[2 * at]!, this.#numberKeys[2 * at + 1]!);
      to.double(this.#numbers[at]!);
    }
    to.long(0);
  }
}

/**
 * The numbers that decide about the revenue, in the object that begins at `start` and is valid
 * JSON. Undefined when a key is changed as it is stored: it may become one of theirs.
 */
export function readAmounts(bytes: Buffer, start: number): Amounts | undefined {
  const amounts: Amounts = { revenue: 0, total: 0, value: 0, price: 0, quantity: 0 };
  let at = skipSpace(bytes, start + 1);
  while (bytes[at] !== CLOSE_BRACE) {
    const key = at + 1;
    const keyEnd = storedKeyEnd(bytes, key);
    if (keyEnd === 0) return undefined;
    const value = skipSpace(bytes, skipSpace(bytes, keyEnd + 1) + 1);
    const end = valueEnd(bytes, value, 0);
    const name = knownName(bytes, key, keyEnd);
    // Of equal keys the last one counts, as in JSON.parse.
    if (name !== undefined && name !== 'currency') {
      const isNumber = bytes[value]! <= NINE && bytes[value] !== QUOTE;
      amounts[name] = isNumber ? Number(bytes.toString('latin1', value, end)) : 0;
    }
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  return amounts;
}

/** The quote behind a key that is stored as it is; 0 for any other. */
function storedKeyEnd(bytes: Uint8Array, start: number): number {
  if (KEY_BYTE[bytes[start]!] !== ALPHABETIC) return 0;
  let at = start + 1;
  for (let byte = bytes[at]!; byte !== QUOTE; byte = bytes[++at]!)
    if (KEY_BYTE[byte] === NO_KEY) return 0;
  return bytes[at - 1] === UNDERSCORE || at - start > MAX_KEY_BYTES ? 0 : at;
}

/** Which of the keys that decide about revenue and currency a key is, if any. */
function knownName(
  bytes: Uint8Array,
  start: number,
  end: number,
): (typeof KNOWN)[number]['name'] | undefined {
  const length = end - start;
  if (length < 5 || length > 8 || length === 6) return undefined;
  for (const known of KNOWN)
    if (known.bytes.length === length && known.bytes[0] === bytes[start]) {
      let at = 1;
      while (at < length && known.bytes[at] === bytes[start + at]) at++;
      if (at === length) return known.name;
    }
  return undefined;
}

/** The end of a whole number whose digits are its shortest text; 0 for any other. */
function wholeNumberEnd(bytes: Uint8Array, start: number): number {
  const first = bytes[start] === MINUS ? start + 1 : start;
  let at = first;
  for (let byte = bytes[at]!; byte >= ZERO && byte <= NINE; byte = bytes[++at]!);
  if (at - first > MAX_DIGITS || (first > start && bytes[first] === ZERO)) return 0;
  const next = bytes[at]!;
  // A fraction; exponents are none of the bodies that are scanned.
  return next === 0x2e || next === 0x65 || next === 0x45 ? 0 : at;
}

function wholeNumber(bytes: Uint8Array, start: number, end: number): number {
  const isNegative = bytes[start] === MINUS;
  let value = 0;
  for (let at = isNegative ? start + 1 : start; at < end; at++)
    value = value * 10 + (bytes[at]! - ZERO);
  return isNegative ? -value : value;
}
/* eslint-enable @typescript-eslint/no-non-null-assertion */
