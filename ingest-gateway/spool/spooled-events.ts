import type { Frame } from './frame.ts';
import { decodePayload } from './spooled-record.ts';
import type { LogRecord } from '../../ingest/log-record.ts';

/** Counts the accepted events of a queue and the bytes of its frames, by account. */
export class SpooledEvents {
  readonly #events = new Map<number, number>();
  readonly #bytes = new Map<number, number>();
  total = 0;

  add(records: readonly LogRecord[]): void {
    for (const { accountId, events } of records) this.#addEvents(accountId, events);
  }

  /** Bytes of a frame that is queued; `addFrames` and `removeFrames` count those on disk. */
  addBytes(accountId: number, bytes: number): void {
    change(this.#bytes, accountId, bytes);
  }

  addFrames(frames: readonly Frame[]): void {
    for (const frame of frames) this.#changeBy(frame, 1);
  }

  removeFrames(frames: readonly Frame[]): void {
    for (const frame of frames) this.#changeBy(frame, -1);
  }

  of(accountId: number): number {
    return this.#events.get(accountId) ?? 0;
  }

  /** Bytes of its frames that are queued, or on disk and not in Kafka. */
  bytesOf(accountId: number): number {
    return this.#bytes.get(accountId) ?? 0;
  }

  #changeBy({ payload, start, end }: Frame, sign: 1 | -1): void {
    const record = decodePayload(payload);
    if (!record) return;
    this.#addEvents(record.accountId, sign * record.events);
    this.addBytes(record.accountId, sign * (end - start));
  }

  #addEvents(accountId: number, events: number): void {
    this.total += events;
    change(this.#events, accountId, events);
  }
}

function change(counts: Map<number, number>, accountId: number, by: number): void {
  const count = (counts.get(accountId) ?? 0) + by;
  if (count === 0) counts.delete(accountId);
  else counts.set(accountId, count);
}
