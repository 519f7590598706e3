import { jsonObject, type JsonObject } from '../../events/json.ts';
import { parseRfc3339 } from '../../events/rfc3339.ts';
import { bodyOf, parseSlice, scanBody, type ScannedBody, type ScannedEvent } from '../scan-body.ts';
import type { BatchSlices, Slice } from '../slice-items.ts';
import {
  ANONYMOUS_ID,
  BATCH_CONTEXT,
  BATCH_SENT_AT,
  BODY_AT,
  CONTEXT,
  EVENT,
  EVENT_SIZE,
  FOUND_AT,
  HEADER,
  ITEM,
  MAX_BODY_BYTES,
  MESSAGE_ID,
  NOT_ASCII,
  PREVIOUS_ID,
  SAME,
  SENT_AT,
  TIMESTAMP,
  TRAITS,
  TYPE,
  USER_ID,
} from './scan-layout.ts';

/** The exports of scan-body.wasm. */
interface ScanExports {
  readonly memory: WebAssembly.Memory;
  scanSingle(length: number): number;
  scanBatch(length: number): number;
}

/* eslint-disable @typescript-eslint/no-non-null-assertion -- places are within the numbers of an event */

/**
 * Scans bodies with scan-body.wasm: what `scanBody` answers, in less than half of its time. One
 * body at a time is in its memory, and none after the call; larger bodies than that has room for
 * are scanned by `scanBody`.
 */
export class WasmScanner {
  readonly #exports: ScanExports;
  readonly #bytes: Uint8Array;
  /** What the last scan found. */
  readonly #found: Int32Array;

  /** Throws where the machine has no SIMD, or refuses the memory. */
  constructor(wasm: Uint8Array<ArrayBuffer>) {
    const instance = new WebAssembly.Instance(new WebAssembly.Module(wasm));
    this.#exports = instance.exports as ScanExports;
    const { buffer } = this.#exports.memory;
    this.#bytes = new Uint8Array(buffer, BODY_AT, MAX_BODY_BYTES);
    this.#found = new Int32Array(buffer, FOUND_AT, (BODY_AT - FOUND_AT) / 4);
  }

  scan(body: Buffer, shape: 'single' | 'batch'): ScannedBody | undefined {
    if (body.length > MAX_BODY_BYTES) return scanBody(body, shape);
    this.#bytes.set(body);
    return shape === 'single' ? this.#single(body) : this.#batch(body);
  }

  #single(body: Buffer): ScannedBody | undefined {
    if (this.#exports.scanSingle(body.length) === 0) return undefined;
    const event = this.#event(body, body.toString('latin1'), HEADER, undefined);
    return event && bodyOf(event);
  }

  #batch(body: Buffer): ScannedBody | undefined {
    const count = this.#exports.scanBatch(body.length);
    if (count === 0) return undefined;
    const text = body.toString('latin1');
    const slices: BatchSlices = {
      items: [],
      context: this.#slice(BATCH_CONTEXT),
      sentAt: this.#slice(BATCH_SENT_AT),
    };
    const { context, sentAt: quoted } = slices;
    const sentAt = quoted && parseRfc3339(text.substring(quoted.start + 1, quoted.end - 1));
    if (Number.isNaN(sentAt)) return undefined;
    const events: ScannedEvent[] = [];
    let before: ScannedEvent | undefined;
    for (let next = 0, at = HEADER; next < count; next++, at += EVENT_SIZE) {
      before = this.#event(body, text, at, before);
      if (!before) return undefined;
      events.push(before);
      slices.items.push({ start: this.#found[at + ITEM]!, end: this.#found[at + ITEM + 1]! });
    }
    return { events, sentAt, context: context && jsonObject(parseSlice(body, context)), slices };
  }

  /**
   * @param at where its numbers begin
   * @param before the event before: its texts are used again where the bytes are the same
   */
  #event(
    body: Buffer,
    text: string,
    at: number,
    before: ScannedEvent | undefined,
  ): ScannedEvent | undefined {
    const same = before ? this.#found[at + SAME]! : 0;
    const isSame = (field: number) => (same & bitOf(field)) !== 0;
    const sent = isSame(TIMESTAMP) ? before!.sent : this.#time(text, at + TIMESTAMP);
    const sentAt = this.#time(text, at + SENT_AT);
    if (Number.isNaN(sent) || Number.isNaN(sentAt)) return undefined;
    const high = this.#found[at + NOT_ASCII]!;
    const textOf = (field: number) => this.#text(body, text, at + field, high & bitOf(field));
    const traits = this.#slice(at + TRAITS);
    return {
      type: isSame(TYPE) ? before!.type : textOf(TYPE),
      event: isSame(EVENT) ? before!.event : textOf(EVENT),
      userId: isSame(USER_ID) ? before!.userId : textOf(USER_ID),
      anonymousId: isSame(ANONYMOUS_ID) ? before!.anonymousId : textOf(ANONYMOUS_ID),
      previousId: textOf(PREVIOUS_ID),
      messageId: textOf(MESSAGE_ID),
      sent,
      sentAt,
      properties: undefined,
      traits: traits && (parseSlice(body, traits) as JsonObject),
      context: this.#slice(at + CONTEXT),
    };
  }

  #slice(place: number): Slice | undefined {
    const end = this.#found[place + 1]!;
    return end === 0 ? undefined : { start: this.#found[place]!, end };
  }

  #text(body: Buffer, text: string, place: number, notAscii: number): string {
    const end = this.#found[place + 1]!;
    if (end === 0) return '';
    const start = this.#found[place]!;
    return notAscii === 0 ? text.substring(start, end) : body.toString('utf8', start, end);
  }

  /** NaN: no time. */
  #time(text: string, place: number): number | undefined {
    const end = this.#found[place + 1]!;
    return end === 0 ? undefined : parseRfc3339(text.substring(this.#found[place]!, end));
  }
}

/** The bit of a text in NOT_ASCII and SAME. */
function bitOf(field: number): number {
  return 1 << (field >> 1);
}
/* eslint-enable @typescript-eslint/no-non-null-assertion */
