import { MAX_BATCH_ITEMS } from '../events/rejections.ts';
import { ITEMS_KEY, roleOf, type BodyShape, type Role } from './body-roles.ts';
import {
  escapeLength,
  JSON_BYTES,
  literalEnd,
  mayBeInfinite,
  numberEnd,
} from '../events/json-bytes.ts';

const { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } =
  JSON_BYTES;

export interface PruneOptions {
  body: Buffer;
  shape: BodyShape;
  /** Bytes of JSON text that are kept of each nested value: the rest of its members is left out. */
  valueBytes: number;
  /** Bytes that are kept of all nested values; of further ones only the brackets remain. */
  totalBytes: number;
}

export interface PrunedBody {
  body: Buffer;
  /** Items of the batch as sent; at most 501 are kept. Undefined without such an array. */
  items: number | undefined;
  /** Members of a value, or items above 501, were left out. */
  isPruned: boolean;
}

const BEFORE_VALUE = 0;
/** After `[`: a value or the end. */
const BEFORE_FIRST_VALUE = 1;
/** After `{`: a key or the end. */
const BEFORE_FIRST_KEY = 2;
const BEFORE_KEY = 3;
const AFTER_VALUE = 4;

/** Longer keys than those with a role are not decoded. */
const MAX_KEY_BYTES = 64;
const UNENCODABLE = Buffer.from('1e999');
const EMPTY_KEY = Buffer.from('"":');

/**
 * Checks a body as JSON.parse does, and leaves out what no rule reads, in one pass, without
 * recursion and without a JavaScript value for each of its tokens: time is linear, and memory is
 * that of the result. Whitespace is left out, too.
 *
 * Decisions and rows of the result are those of the body: an array or object is stored as JSON text
 * of at most 8192 bytes (ingest 2.3), so the members after that are not read, apart from a number
 * that JSON cannot encode, which is kept as `1e999`. (JSON.parse moves integer keys forward and
 * drops repeated keys; a value cut before such a key loses it.) Undefined for a body that is not
 * JSON.
 */
export function pruneBody(options: PruneOptions): PrunedBody | undefined {
  return new Pruner(options).run();
}

/* eslint-disable @typescript-eslint/no-non-null-assertion -- indexes are bounded; a fallback for each byte halves the speed */

class Pruner {
  readonly #body: Buffer;
  readonly #end: number;
  readonly #shape: BodyShape;
  readonly #itemsKey: string | undefined;
  readonly #valueBytes: number;
  #totalLeft: number;
  #out: Buffer;
  #length = 0;
  /** 1 for each open object, 0 for each open array. */
  #isObject = new Uint8Array(64);
  #depth = 0;
  /** Roles of the open containers down to the value. */
  readonly #roles: Role[] = [];
  /** Depth of the value that is read; 0 outside of values. */
  #valueDepth = 0;
  /** Least number of bytes that are left of it as JSON text. */
  #valueLeft = 0;
  /** Depth of the container whose further members are left out; 0 while everything is kept. */
  #cutDepth = 0;
  #isPruned = false;
  /** A number that JSON cannot encode was left out. */
  #hasDropped = false;
  #keyStart = 0;
  #keyEnd = 0;
  #items: number | undefined;
  #at = 0;

  constructor({ body, shape, valueBytes, totalBytes }: PruneOptions) {
    this.#body = body;
    this.#end = body.length;
    this.#shape = shape;
    this.#itemsKey = shape === 'single' ? undefined : ITEMS_KEY[shape];
    this.#valueBytes = valueBytes;
    this.#totalLeft = totalBytes;
    // 1e999 may take a few bytes more than the shortest number that it stands for.
    this.#out = Buffer.allocUnsafe(body.length + 64);
  }

  run(): PrunedBody | undefined {
    const body = this.#body;
    let state = BEFORE_VALUE;
    while (this.#at < this.#end) {
      const byte = body[this.#at]!;
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
        this.#at++;
        continue;
      }
      if (state === AFTER_VALUE) {
        if (this.#depth === 0) return undefined;
        const isObject = this.#isObject[this.#depth] === 1;
        if (byte === COMMA) {
          this.#comma();
          state = isObject ? BEFORE_KEY : BEFORE_VALUE;
        } else if (byte === (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) this.#close(byte);
        else return undefined;
        this.#at++;
      } else if (state === BEFORE_FIRST_KEY && byte === CLOSE_BRACE) {
        this.#close(byte);
        this.#at++;
        state = AFTER_VALUE;
      } else if (state === BEFORE_FIRST_KEY || state === BEFORE_KEY) {
        if (byte !== QUOTE || !this.#key()) return undefined;
        state = BEFORE_VALUE;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        this.#open(byte);
        this.#at++;
        state = byte === OPEN_BRACE ? BEFORE_FIRST_KEY : BEFORE_FIRST_VALUE;
      } else if (byte === CLOSE_BRACKET && state === BEFORE_FIRST_VALUE) {
        this.#close(byte);
        this.#at++;
        state = AFTER_VALUE;
      } else {
        if (!(byte === QUOTE ? this.#string() : this.#scalar())) return undefined;
        state = AFTER_VALUE;
      }
    }
    if (state !== AFTER_VALUE || this.#depth > 0) return undefined;
    return {
      body: this.#out.subarray(0, this.#length),
      items: this.#items,
      isPruned: this.#isPruned,
    };
  }

  #open(byte: number): void {
    const isObject = byte === OPEN_BRACE;
    const parent = this.#roles.at(-1);
    if (parent === 'batch') this.#items!++;
    const depth = ++this.#depth;
    if (depth === this.#isObject.length) {
      const larger = new Uint8Array(depth * 2);
      larger.set(this.#isObject);
      this.#isObject = larger;
    }
    this.#isObject[depth] = isObject ? 1 : 0;
    if (this.#valueDepth === 0) {
      const role = roleOf({ shape: this.#shape, parent, isObject, key: () => this.#lastKey() });
      this.#roles.push(role);
      if (role === 'batch') this.#items = 0;
      if (role === 'value') {
        this.#valueDepth = depth;
        this.#valueLeft = Math.min(this.#valueBytes, this.#totalLeft);
        this.#hasDropped = false;
      }
    }
    if (this.#cutDepth > 0) return;
    this.#out[this.#length++] = byte;
    if (this.#valueDepth > 0 && --this.#valueLeft < 0) this.#cut();
  }

  #cut(): void {
    this.#cutDepth = this.#depth;
    this.#isPruned = true;
  }

  #lastKey(): string | undefined {
    if (this.#keyEnd - this.#keyStart > MAX_KEY_BYTES) return undefined;
    return JSON.parse(this.#body.toString('utf8', this.#keyStart, this.#keyEnd)) as string;
  }

  #close(byte: number): void {
    const depth = this.#depth--;
    const isValue = depth === this.#valueDepth;
    if (this.#cutDepth === 0 || depth <= this.#cutDepth) {
      if (isValue && this.#hasDropped) this.#keepUnencodable(byte);
      this.#out[this.#length++] = byte;
      this.#valueLeft--;
      if (this.#cutDepth > 0)
        this.#cutDepth = isValue || this.#roles.at(-1) === 'batch' ? 0 : depth - 1;
    }
    if (isValue) {
      this.#totalLeft -= Math.min(this.#valueBytes, this.#totalLeft) - Math.max(0, this.#valueLeft);
      this.#valueDepth = 0;
    }
    if (this.#valueDepth === 0) this.#roles.pop();
  }

  /** Stands for every number that was left out of the value that ends. */
  #keepUnencodable(closer: number): void {
    const last = this.#out[this.#length - 1];
    if (last !== OPEN_BRACE && last !== OPEN_BRACKET) this.#out[this.#length++] = COMMA;
    if (closer === CLOSE_BRACE) this.#length += EMPTY_KEY.copy(this.#out, this.#length);
    this.#length += UNENCODABLE.copy(this.#out, this.#length);
  }

  #comma(): void {
    if (this.#cutDepth > 0) return;
    if (this.#valueDepth > 0) {
      if (--this.#valueLeft < 0) return this.#cut();
    } else if (this.#roles.at(-1) === 'batch' && this.#items! > MAX_BATCH_ITEMS) return this.#cut();
    this.#out[this.#length++] = COMMA;
  }

  #key(): boolean {
    this.#keyStart = this.#at;
    if (!this.#text()) return false;
    this.#keyEnd = this.#at;
    const body = this.#body;
    for (;;) {
      const byte = body[this.#at++];
      if (byte === COLON) break;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false;
    }
    if (this.#cutDepth === 0) {
      this.#out[this.#length++] = COLON;
      this.#valueLeft--;
    }
    // Of equal keys the last one counts.
    if (this.#items !== undefined && this.#depth === 1 && this.#lastKey() === this.#itemsKey)
      this.#items = undefined;
    return true;
  }

  #string(): boolean {
    if (this.#roles.at(-1) === 'batch') this.#items!++;
    return this.#text();
  }

  /** Checks the string at #at and keeps it. */
  #text(): boolean {
    const body = this.#body;
    const start = this.#at;
    let at = start + 1;
    let escapes = 0;
    for (;;) {
      const byte = body[at];
      if (byte === QUOTE) break;
      if (byte === undefined || byte < 0x20) return false;
      if (byte === BACKSLASH) {
        const length = escapeLength(body, at);
        if (length === 0) return false;
        at += length;
        escapes += length - 1;
      } else at++;
    }
    at++;
    if (this.#cutDepth === 0) {
      this.#valueLeft -= at - start - escapes;
      this.#keep(start, at);
    }
    this.#at = at;
    return true;
  }

  #keep(start: number, end: number): void {
    if (end - start > 48) {
      this.#body.copy(this.#out, this.#length, start, end);
      this.#length += end - start;
    } else for (let at = start; at < end; at++) this.#out[this.#length++] = this.#body[at]!;
  }

  /** Checks the number, true, false or null at #at and keeps it. */
  #scalar(): boolean {
    if (this.#roles.at(-1) === 'batch') this.#items!++;
    const start = this.#at;
    const end = literalEnd(this.#body, start);
    if (end !== undefined) this.#at = end;
    else if (!this.#number()) return false;
    if (this.#cutDepth === 0) {
      // A number may be shorter as JSON.stringify writes it.
      this.#valueLeft--;
      this.#keep(start, this.#at);
    }
    return true;
  }

  #number(): boolean {
    const start = this.#at;
    const end = numberEnd(this.#body, start);
    if (end === undefined) return false;
    this.#at = end;
    // Shorter numbers are finite.
    if (this.#cutDepth > 0 && !this.#hasDropped && mayBeInfinite(this.#body, start, end))
      this.#hasDropped = !Number.isFinite(Number(this.#body.toString('latin1', start, end)));
    return true;
  }
}

/* eslint-enable @typescript-eslint/no-non-null-assertion */
