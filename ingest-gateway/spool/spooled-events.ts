import type { Frame } from './frame.ts';
import { decodePayload } from './spooled-record.ts';
import type { LogRecord } from '../../ingest/log-record.ts';

/** Counts the accepted events in the spool, by account. */
export class SpooledEvents {
  readonly #byAccount = new Map<number, number>();
  total = 0;

  add(records: readonly LogRecord[]): void {
    for (const { accountId, events } of records) this.#change(accountId, events);
  }

  addFrames(frames: readonly Frame[]): void {
    for (const frame of frames) this.#changeBy(frame, 1);
  }

  removeFrames(frames: readonly Frame[]): void {
    for (const frame of frames) this.#changeBy(frame, -1);
  }

  of(accountId: number): number {
    return this.#byAccount.get(accountId) ?? 0;
  }

  #changeBy(frame: Frame, sign: 1 | -1): void {
    const record = decodePayload(frame.payload);
    if (record) this.#change(record.accountId, sign * record.events);
  }

  #change(accountId: number, events: number): void {
    if (events === 0) return;
    this.total += events;
    const count = this.of(accountId) + events;
    if (count === 0) this.#byAccount.delete(accountId);
    else this.#byAccount.set(accountId, count);
  }
}
