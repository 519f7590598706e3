import {
  allSchemas,
  HEADER_BYTES,
  rawRecordCodec,
  singleObjectHeader,
  UnreadableRecord,
} from './codec.ts';
import { LastText, type Sliceable } from './last-text.ts';
import type { RawItem, RawRecord } from './records.ts';

/** A raw record without the bytes that clients sent: they are read where they are needed. */
export type RawFacts = Omit<RawRecord, 'body' | 'delivery'>;

/** The facts of a raw record, and its body as a part of `bytes`. */
export interface RawContents {
  record: RawFacts;
  bytes: Buffer;
  bodyStart: number;
  bodyEnd: number;
}

/** What the books need of a raw record. */
export interface RawCounts extends Pick<
  RawRecord,
  'account_id' | 'received_at' | 'source' | 'origin' | 'redriven_from'
> {
  /** Number of its events. */
  items: number;
}

const NOTHING = Buffer.alloc(0);
/** An item has seven fields of at least a byte. */
const MIN_ITEM_BYTES = 7;
/** A long of 64 bits has at most so many bytes; avsc reads one of up to seven exactly. */
const MAX_LONG_BYTES = 10;
const EXACT_BYTES = 7;

/** The versions whose fields `read` knows: up to `redriven_from` they are the same. */
const HEADERS = allSchemas()
  .filter(({ subject, version }) => subject === 'raw-record' && version <= 2)
  .map(({ type, version }) => ({ bytes: singleObjectHeader(type), version }))
  .reverse();

/**
 * Reads raw records several times as fast as the codec, and to the same values: the bytes of the
 * body and of a delivery are not copied, and a text that is the same as in the record before is
 * the same string, which consumers compare by its identity. What is unusual is left to the codec.
 * Bytes that end too early, or have more items than bytes, are refused here: avsc reads as many
 * items as a damaged number says.
 */
export class RawReader {
  #bytes: Buffer = NOTHING;
  #at = 0;
  /** A number may not be exact. */
  #isInexact = false;
  readonly #source = new LastText();
  readonly #path = new LastText();
  readonly #ip = new LastText();
  readonly #userAgent = new LastText();
  readonly #origin = new LastText();
  readonly #trace = new LastText();
  readonly #gateway = new LastText();
  readonly #shape = new LastText();
  readonly #type = new LastText();

  /** Throws UnreadableRecord as the codec does. */
  read(bytes: Buffer): RawContents {
    const version = versionOf(bytes);
    const found = version > 0 && this.#whole(bytes, () => this.#read(version));
    if (found) return found;
    const record = rawRecordCodec.decode(bytes);
    return { record, bytes: record.body, bodyStart: 0, bodyEnd: record.body.length };
  }

  /** What the books need; all else is skipped. Throws UnreadableRecord as the codec does. */
  counts(bytes: Buffer): RawCounts {
    const version = versionOf(bytes);
    const found = version > 0 && this.#whole(bytes, () => this.#counts(version));
    if (found) return found;
    const { account_id, received_at, source, origin, items, redriven_from } =
      rawRecordCodec.decode(bytes);
    return { account_id, received_at, source, origin, items: items.length, redriven_from };
  }

  /** Reads all of the bytes; undefined when the codec must read them. */
  #whole<T>(bytes: Buffer, read: () => T): T | undefined {
    this.#begin(bytes);
    try {
      const found = read();
      if (this.#at !== bytes.length) throw broken('they end too late');
      return this.#isInexact ? undefined : found;
    } finally {
      this.#bytes = NOTHING;
    }
  }

  #begin(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#at = HEADER_BYTES;
    this.#isInexact = false;
  }

  #read(version: number): RawContents {
    const account_id = this.#long();
    const app_id = this.#long();
    const write_key_id = this.#long();
    const received_at = this.#long();
    const source = this.#text(this.#source) as RawRecord['source'];
    const path = this.#text(this.#path);
    const ip = this.#text(this.#ip);
    const user_agent = this.#text(this.#userAgent);
    const origin = this.#text(this.#origin);
    const trace = this.#text(this.#trace);
    const gateway = this.#text(this.#gateway);
    const sequence = this.#long();
    const shape = this.#text(this.#shape) as RawRecord['shape'];
    const bodyStart = this.#skip();
    const bodyEnd = this.#at;
    const items: RawItem[] = [];
    for (let count = this.#block(); count > 0; count = this.#block())
      for (let item = 0; item < count; item++) items.push(this.#item());
    const redriven_from = this.#position();
    if (version > 1) this.#skipDelivery();
    const record: RawFacts = {
      account_id,
      app_id,
      write_key_id,
      received_at,
      source,
      path,
      ip,
      user_agent,
      origin,
      trace,
      gateway,
      sequence,
      shape,
      items,
      redriven_from,
    };
    return { record, bytes: this.#bytes, bodyStart, bodyEnd };
  }

  #counts(version: number): RawCounts {
    const account_id = this.#long();
    this.#long();
    this.#long();
    const received_at = this.#long();
    const source = this.#text(this.#source) as RawRecord['source'];
    // path, ip, user_agent
    for (let text = 0; text < 3; text++) this.#skip();
    const origin = this.#text(this.#origin);
    // trace, gateway
    for (let text = 0; text < 2; text++) this.#skip();
    this.#long();
    // shape, body
    for (let text = 0; text < 2; text++) this.#skip();
    let items = 0;
    for (let count = this.#block(); count > 0; count = this.#block()) {
      for (let item = 0; item < count; item++) this.#skipItem();
      items += count;
    }
    const redriven_from = this.#position();
    if (version > 1) this.#skipDelivery();
    return { account_id, received_at, source, origin, items, redriven_from };
  }

  /** Number of items in the next block of an array; 0: it was the last one. */
  #block(): number {
    let count = this.#long();
    if (count < 0) {
      count = -count;
      // Bytes of the block.
      this.#long();
    }
    if (count * MIN_ITEM_BYTES > this.#bytes.length - this.#at)
      throw broken('they say that they have more items than bytes');
    return count;
  }

  #item(): RawItem {
    const at = this.#long();
    const index = this.#long();
    const type = this.#text(this.#type) as RawItem['type'];
    const message_id = this.#newText();
    const generated = this.#byte() !== 0;
    const dedupe_id = this.#isNull() ? null : this.#newText();
    const timestamp = this.#long();
    return { at, index, type, message_id, generated, dedupe_id, timestamp };
  }

  #skipItem(): void {
    this.#long();
    this.#long();
    this.#skip();
    this.#skip();
    this.#byte();
    if (!this.#isNull()) this.#skip();
    this.#long();
  }

  #position(): RawRecord['redriven_from'] {
    if (this.#isNull()) return null;
    return {
      epoch: this.#long(),
      partition: this.#long(),
      offset: this.#long(),
      index: this.#long(),
    };
  }

  #skipDelivery(): void {
    if (this.#isNull()) return;
    this.#skip();
    this.#skip();
    this.#skip();
  }

  /** The branch of a union of null and another type. */
  #isNull(): boolean {
    const branch = this.#byte();
    if (branch !== 0 && branch !== 2) throw broken('they have a value of no known type');
    return branch === 0;
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw broken('they end too early');
    return byte;
  }

  #long(): number {
    const bytes = this.#bytes;
    let value = 0;
    let scale = 1;
    for (let at = this.#at, end = at + MAX_LONG_BYTES; at < end; at++) {
      const byte = bytes[at];
      if (byte === undefined) throw broken('they end too early');
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        this.#isInexact ||= at - this.#at >= EXACT_BYTES;
        this.#at = at + 1;
        return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      }
      scale *= 0x80;
    }
    throw broken('they have a number of more than 64 bits');
  }

  /** Skips bytes with their length before them; returns where they begin. */
  #skip(): number {
    const length = this.#long();
    const from = this.#at;
    if (length < 0 || length > this.#bytes.length - from) throw broken('they end too early');
    this.#at = from + length;
    return from;
  }

  #text(last: LastText): string {
    const from = this.#skip();
    return last.text(this.#bytes, from, this.#at);
  }

  #newText(): string {
    const from = this.#skip();
    return (this.#bytes as Sliceable).utf8Slice(from, this.#at);
  }
}

function broken(why: string): UnreadableRecord {
  return new UnreadableRecord('broken_datum', `the bytes do not fit raw-record: ${why}`);
}

/** 0: none that `read` knows. */
function versionOf(bytes: Buffer): number {
  if (bytes.length < HEADER_BYTES) return 0;
  for (const { bytes: header, version } of HEADERS) {
    let at = 0;
    while (at < HEADER_BYTES && bytes[at] === header[at]) at++;
    if (at === HEADER_BYTES) return version;
  }
  return 0;
}
