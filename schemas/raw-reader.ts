import { allSchemas, HEADER_BYTES, rawRecordCodec, singleObjectHeader } from './codec.ts';
import type { RawItem, RawRecord } from './records.ts';

/** A raw record without the bytes that clients sent: they are read where they are needed. */
export type RawFacts = Omit<RawRecord, 'body' | 'delivery'>;

/** The facts of a raw record, and its body as text. */
export interface RawText {
  record: RawFacts;
  body: string;
}

/** The bytes are none that this reader reads itself. */
const UNREADABLE = -1;
/** Up to this length a text is compared with the last one of its field; others are always made. */
const MAX_COMPARED = 256;

/** The versions whose fields `read` knows: up to `redriven_from` they are the same. */
const HEADERS = allSchemas()
  .filter(({ subject, version }) => subject === 'raw-record' && version <= 2)
  .map(({ type, version }) => ({ bytes: singleObjectHeader(type), version }))
  .reverse();

/**
 * Reads raw records several times as fast as the codec, and to the same values: the bytes of the
 * body and of a delivery are not copied, and a text that is the same as in the record before is
 * the same string, which consumers compare by its identity. What is unusual or broken is left to
 * the codec.
 */
export class RawReader {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
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
  read(bytes: Buffer): RawText {
    const version = versionOf(bytes);
    const found = version === 0 ? undefined : this.#read(bytes, version);
    this.#bytes = NOTHING;
    if (found !== undefined) return found;
    const record = rawRecordCodec.decode(bytes);
    return { record, body: record.body.toString('utf8') };
  }

  #read(bytes: Buffer, version: number): RawText | undefined {
    this.#bytes = bytes;
    this.#at = HEADER_BYTES;
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
    const from = this.#skip();
    const to = this.#at;
    const items = this.#items();
    if (items === undefined || this.#at === UNREADABLE) return undefined;
    const redriven_from = this.#place();
    if (version > 1) this.#skipDelivery();
    if (this.#at !== bytes.length) return undefined;
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
    return { record, body: (bytes as Sliceable).utf8Slice(from, to) };
  }

  /** The items, where they are one block, as encoders write them. */
  #items(): RawItem[] | undefined {
    const count = this.#long();
    // Each has at least seven bytes, so that no array is larger than its record.
    if (count < 0 || count * 7 > this.#bytes.length) return undefined;
    const items: RawItem[] = [];
    for (let item = 0; item < count; item++) {
      const at = this.#long();
      const index = this.#long();
      const type = this.#text(this.#type) as RawItem['type'];
      const message_id = this.#newText();
      const generated = this.#byte() !== 0;
      const dedupe_id = this.#byte() === 2 ? this.#newText() : this.#null();
      const timestamp = this.#long();
      if (this.#at === UNREADABLE) return undefined;
      items.push({ at, index, type, message_id, generated, dedupe_id, timestamp });
    }
    return count === 0 || this.#byte() === 0 ? items : undefined;
  }

  #place(): RawRecord['redriven_from'] {
    if (this.#byte() !== 2) return this.#null();
    return {
      epoch: this.#long(),
      partition: this.#long(),
      offset: this.#long(),
      index: this.#long(),
    };
  }

  #skipDelivery(): void {
    if (this.#byte() !== 2) {
      this.#null();
      return;
    }
    this.#skip();
    this.#skip();
    this.#skip();
  }

  /** The branch of a union that has just been read must be 0. */
  #null(): null {
    if (this.#at === UNREADABLE || this.#bytes[this.#at - 1] !== 0) this.#at = UNREADABLE;
    return null;
  }

  #byte(): number {
    const byte = this.#at === UNREADABLE ? undefined : this.#bytes[this.#at];
    if (byte === undefined) return this.#fail();
    this.#at++;
    return byte;
  }

  /** A long of up to seven bytes: every number that is exact in avsc. */
  #long(): number {
    if (this.#at === UNREADABLE) return UNREADABLE;
    const bytes = this.#bytes;
    let value = 0;
    let scale = 1;
    for (let at = this.#at, end = at + 7; at < end && at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        this.#at = at + 1;
        return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      }
      scale *= 0x80;
    }
    return this.#fail();
  }

  /** Skips bytes with their length before them; returns where they begin. */
  #skip(): number {
    const length = this.#long();
    const from = this.#at;
    if (from === UNREADABLE || length < 0 || length > this.#bytes.length - from)
      return this.#fail();
    this.#at = from + length;
    return from;
  }

  #text(last: LastText): string {
    const from = this.#skip();
    return from === UNREADABLE ? '' : last.text(this.#bytes, from, this.#at);
  }

  #newText(): string {
    const from = this.#skip();
    return from === UNREADABLE ? '' : (this.#bytes as Sliceable).utf8Slice(from, this.#at);
  }

  #fail(): typeof UNREADABLE {
    this.#at = UNREADABLE;
    return UNREADABLE;
  }
}

const NOTHING = Buffer.alloc(0);

/** Node's native decoder, without the argument checks of Buffer.toString. */
type Sliceable = Buffer & { utf8Slice(from: number, to: number): string };

/** The text that a field had last: nearly every record has the same one in most fields. */
class LastText {
  #text = '';
  #length = 0;
  readonly #bytes = new Uint8Array(MAX_COMPARED);

  text(bytes: Buffer, from: number, to: number): string {
    const length = to - from;
    if (length === this.#length) {
      const last = this.#bytes;
      let at = 0;
      while (at < length && bytes[from + at] === last[at]) at++;
      if (at === length) return this.#text;
    }
    const text = (bytes as Sliceable).utf8Slice(from, to);
    if (length <= MAX_COMPARED) {
      for (let at = 0; at < length; at++) this.#bytes[at] = bytes[from + at] ?? 0;
      this.#length = length;
      this.#text = text;
    }
    return text;
  }
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
