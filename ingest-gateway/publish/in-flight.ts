import type { LogRecord } from '../../ingest/log-record.ts';

/** The publish of one request; resolves when each of its records is durable or refused. */
export interface Waiter {
  left: number;
  /** Records that are not durable. */
  refused: LogRecord[];
  resolve: (refused: readonly LogRecord[]) => void;
}

/** An accepted record that is not yet durable in Kafka or the spool. */
export interface Entry {
  record: LogRecord;
  waiter: Waiter;
  /** When it was accepted, ms of a monotonic clock. */
  since: number;
  isComplete: boolean;
  /** True while it is in InFlight. */
  isHeld: boolean;
}

const COMPACT_AT = 1024;

/** Accepted records that are not durable yet, in the order of their acceptance. */
export class InFlight {
  #entries: Entry[] = [];
  #head = 0;
  bytes = 0;
  records = 0;

  push(entry: Entry): void {
    entry.isHeld = true;
    this.#entries.push(entry);
    this.bytes += entry.record.value.length;
    this.records++;
  }

  /** Removes a complete entry; entries complete in any order. */
  remove(entry: Entry): void {
    entry.isHeld = false;
    this.bytes -= entry.record.value.length;
    this.records--;
    while (this.#head < this.#entries.length && this.#entries[this.#head]?.isComplete === true)
      this.#head++;
    if (this.#head === this.#entries.length) {
      this.#entries = [];
      this.#head = 0;
    } else if (this.#head > COMPACT_AT && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }

  /** The entry that has waited longest. */
  get oldest(): Entry | undefined {
    return this.#entries[this.#head];
  }

  /** The entries that are not complete, in order. */
  incomplete(): Entry[] {
    return this.#entries.slice(this.#head).filter((entry) => !entry.isComplete);
  }

  /** Removes and returns the entries that are not complete, in order. */
  removeAll(): Entry[] {
    const all = this.incomplete();
    for (const entry of all) entry.isHeld = false;
    this.#entries = [];
    this.#head = 0;
    this.bytes = 0;
    this.records = 0;
    return all;
  }
}
