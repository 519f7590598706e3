import type { LogRecord } from '../../ingest/log-record.ts';

/** One request's records: the promise resolves when each of them is durable or refused. */
export interface Waiter {
  left: number;
  /** Those that are not durable. */
  refused: LogRecord[];
  resolve: (refused: readonly LogRecord[]) => void;
}

/** A record that was accepted and has no answer yet. */
export interface Entry {
  record: LogRecord;
  waiter: Waiter;
  /** Milliseconds of a clock that only goes forward. */
  since: number;
  settled: boolean;
  /** It stands among those in flight, and not in the spool. */
  isHeld: boolean;
}

const COMPACT_AT = 1024;

/** Accepted records in the order of their acceptance, until each is settled. */
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

  /** The entry has its answer: it leaves, in whatever order answers come. */
  remove(entry: Entry): void {
    entry.isHeld = false;
    this.bytes -= entry.record.value.length;
    this.records--;
    while (this.#head < this.#entries.length && this.#entries[this.#head]?.settled === true)
      this.#head++;
    if (this.#head === this.#entries.length) {
      this.#entries = [];
      this.#head = 0;
    } else if (this.#head > COMPACT_AT && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }

  /** The one that has waited longest. */
  get oldest(): Entry | undefined {
    return this.#entries[this.#head];
  }

  /** Everything without an answer, in order. */
  unsettled(): Entry[] {
    return this.#entries.slice(this.#head).filter((entry) => !entry.settled);
  }

  /** The same, and nothing remains here. */
  takeAll(): Entry[] {
    const all = this.unsettled();
    for (const entry of all) entry.isHeld = false;
    this.#entries = [];
    this.#head = 0;
    this.bytes = 0;
    this.records = 0;
    return all;
  }
}
