import type { EventBytes } from './raw-records.ts';
import { sliceItems, type BatchSlices, type Slice } from './slice-items.ts';

const OPEN = Buffer.from('{');
const CONTEXT = Buffer.from('"context":');
const SENT_AT = Buffer.from('"sent_at":');
const BATCH = Buffer.from('"batch":[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']}');

/**
 * A body as a client sent it. Batches of some of its items are cut from its bytes: nothing is
 * serialised again, so numbers and spelling are as sent.
 */
export class ClientBody implements EventBytes {
  readonly #body: Buffer;
  readonly #key: 'batch' | 'events';
  #slices: BatchSlices | undefined;

  /**
   * @param key member with the items: `batch` of the SDK routes, whose context and sent_at apply to
   * all items, or `events` of the import
   */
  constructor(body: Buffer, key: 'batch' | 'events') {
    this.#body = body;
    this.#key = key;
  }

  get whole(): Buffer | undefined {
    return this.#key === 'batch' ? this.#body : undefined;
  }

  /** Throws RangeError for an item that is not there. */
  batchOf(indices: readonly number[]): Buffer {
    const body = this.#body;
    const slices = (this.#slices ??= sliceItems(body, this.#key));
    const parts: Buffer[] = [OPEN];
    const add = (name: Buffer, slice: Slice | undefined) => {
      if (slice) parts.push(name, body.subarray(slice.start, slice.end), COMMA);
    };
    add(CONTEXT, slices.context);
    add(SENT_AT, slices.sentAt);
    parts.push(BATCH);
    for (let position = 0; position < indices.length; position++) {
      const slice = slices.items[indices[position] ?? -1];
      if (!slice) throw new RangeError(`the body has no item ${indices[position] ?? 'there'}`);
      if (position > 0) parts.push(COMMA);
      parts.push(body.subarray(slice.start, slice.end));
    }
    parts.push(CLOSE);
    return Buffer.concat(parts);
  }
}
