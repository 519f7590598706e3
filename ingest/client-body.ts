import { reduceContext } from '../events/context.ts';
import type { JsonObject } from '../events/json.ts';
import type { BytesToWrite } from '../schemas/raw-record-encoder.ts';
import type { EventBytes } from './raw-records.ts';
import { sliceItems, type BatchSlices, type Slice } from './slice-items.ts';

const OPEN = Buffer.from('{');
const CONTEXT = Buffer.from('"context":');
const SENT_AT = Buffer.from('"sent_at":');
const BATCH = Buffer.from('"batch":[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']}');
/**
 * A time takes at most 64 characters (events/rfc3339.ts); written with escapes it is longer. Copies
 * have no longer one: the times of the events are decided, and nothing reads it again.
 */
const MAX_COPIED_TIME_BYTES = 66;

/** What batches of some of a body's items are made of. */
export interface BodyParts extends BatchSlices {
  /** The context as it is copied when copies of it as sent would be large. */
  reducedContext?: Buffer;
}

/**
 * A body as a client sent it. Batches of some of its items are cut from its bytes: nothing is
 * serialised again, so numbers and spelling are as sent. Only a context whose copies would take
 * more than half as many bytes as the body is reduced to the fields that are stored (ingest 2.2),
 * and a sent_at that is longer than a time is left out.
 */
export class ClientBody implements EventBytes {
  readonly #body: Buffer;
  readonly #key: 'batch' | 'events';
  #parts: BodyParts | undefined;

  /**
   * @param key member with the items: `batch` of the SDK routes, whose context and sent_at apply to
   * all items, or `events` of the import
   * @param parts those of `body`, when they are known
   */
  constructor(body: Buffer, key: 'batch' | 'events', parts?: BodyParts) {
    this.#body = body;
    this.#key = key;
    this.#parts = parts;
  }

  get whole(): Buffer | undefined {
    return this.#key === 'batch' ? this.#body : undefined;
  }

  /** Throws RangeError for an item that is not there. */
  batchOf(indices: readonly number[], records: number): BytesToWrite {
    const body = this.#body;
    const slices = (this.#parts ??= sliceItems(body, this.#key));
    const { context, sentAt } = slices;
    const copied = context && this.#contextOf(slices, context, records);
    const time = sentAt && sentAt.end - sentAt.start <= MAX_COPIED_TIME_BYTES ? sentAt : undefined;
    const items = indices.map((index) => itemAt(slices, index));
    let length = OPEN.length + BATCH.length + CLOSE.length + Math.max(0, items.length - 1);
    if (copied) length += CONTEXT.length + copied.length + COMMA.length;
    if (time) length += SENT_AT.length + time.end - time.start + COMMA.length;
    for (const { start, end } of items) length += end - start;
    return {
      length,
      writeTo(to) {
        const write = (bytes: Buffer) => to.raw(bytes, 0, bytes.length);
        write(OPEN);
        if (copied) for (const part of [CONTEXT, copied, COMMA]) write(part);
        if (time) {
          write(SENT_AT);
          to.raw(body, time.start, time.end);
          write(COMMA);
        }
        write(BATCH);
        for (const [position, { start, end }] of items.entries()) {
          if (position > 0) write(COMMA);
          to.raw(body, start, end);
        }
        write(CLOSE);
      },
    };
  }

  #contextOf(parts: BodyParts, { start, end }: Slice, records: number): Buffer {
    const sent = this.#body.subarray(start, end);
    if (sent.length * records <= this.#body.length / 2) return sent;
    const reduced = (parts.reducedContext ??= reducedContext(sent));
    return reduced.length < sent.length ? reduced : sent;
  }
}

/**
 * The parts of a batch, for a later `batchOf`.
 * @param reduce the reduced context; called when the context as sent is large
 */
export function bodyParts(body: Buffer, reduce: () => JsonObject): BodyParts {
  const parts: BodyParts = sliceItems(body, 'batch');
  const { context } = parts;
  if (context && context.end - context.start > MIN_REDUCED_BYTES)
    parts.reducedContext = Buffer.from(JSON.stringify(reduce()));
  return parts;
}

/** A shorter context is cheap to read again when a copy needs it. */
const MIN_REDUCED_BYTES = 16 * 1024;

function reducedContext(sent: Buffer): Buffer {
  return Buffer.from(JSON.stringify(reduceContext(JSON.parse(sent.toString()))));
}

function itemAt({ items }: BatchSlices, index: number): Slice {
  const slice = items[index];
  if (!slice) throw new RangeError(`the body has no item ${index}`);
  return slice;
}
