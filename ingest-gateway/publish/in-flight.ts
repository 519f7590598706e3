import type { LogRecord } from '../../ingest/log-record.ts';
import type { AppendLimits } from '../spool/append-queue.ts';
import type { AccountBulk, BulkShare } from './bulk-share.ts';
import type { DrainBlocked, Side } from './drain-options.ts';

/** Takes the records of a partition that cannot be written. */
export interface SideQueue extends Side {
  /** Why it cannot drain; undefined while it can. */
  readonly blocked: DrainBlocked | undefined;
  /** A record of the partition, after all earlier ones. `limits` apply if it goes to disk. */
  accept(entry: Entry, limits: AppendLimits): void;
  /** Appends what is held in memory to the queue on disk. */
  spoolHeld(): void;
  close(): void;
}

/** The publish of one request; resolves when each of its records is durable or refused. */
export interface Waiter {
  /** That of the account when it has more than BULK_RECORDS records. */
  bulk: AccountBulk | undefined;
  left: number;
  /** Records that are not durable. */
  refused: LogRecord[];
  resolve: (refused: readonly LogRecord[]) => void;
}

/** An accepted record that is not yet durable in Kafka or the spool. */
export interface Entry {
  record: LogRecord;
  waiter: Waiter;
  /** When it was sent to Kafka: ms of a monotonic clock, and of the ActiveClock. */
  sentAt: number;
  activeSince: number;
  isComplete: boolean;
  /** The partition whose entries in flight contain it. */
  flow: Flow | undefined;
  /** The batch that it was put into last. */
  batch: object | undefined;
  /** How often it was sent to Kafka; Infinity: it was somewhere else as well. */
  sends: number;
}

/** An entry that was not sent yet. */
export function newEntry(record: LogRecord, waiter: Waiter): Entry {
  return {
    record,
    waiter,
    sentAt: 0,
    activeSince: 0,
    isComplete: false,
    flow: undefined,
    batch: undefined,
    sends: 0,
  };
}

const COMPACT_AT = 1024;

/** Of all partitions. */
interface Totals {
  bytes: number;
  records: number;
  readonly share: BulkShare;
}

/** A partition, and its accepted records that are not durable yet, in order. */
export class Flow {
  readonly topic: string;
  readonly partition: number;
  readonly #totals: Totals;
  #entries: (Entry | undefined)[] = [];
  #head = 0;
  records = 0;
  /** When one of them was acknowledged last, ms of the ActiveClock. */
  lastAcknowledged = -Infinity;
  /** Takes its records while it cannot be written. */
  side: SideQueue | undefined;

  constructor(of: { topic: string; partition: number }, totals: Totals) {
    this.topic = of.topic;
    this.partition = of.partition;
    this.#totals = totals;
  }

  push(entry: Entry): void {
    entry.flow = this;
    this.#entries.push(entry);
    this.records++;
    this.#totals.bytes += entry.record.value.length;
    this.#totals.records++;
    const { bulk } = entry.waiter;
    if (bulk) this.#totals.share.sent(bulk, this);
  }

  /** Removes an entry that is complete; entries complete in any order. */
  remove(entry: Entry): void {
    this.#release(entry);
    while (this.#head < this.#entries.length && this.#entries[this.#head]?.flow !== this)
      this.#entries[this.#head++] = undefined;
    if (this.#head === this.#entries.length) {
      this.#entries = [];
      this.#head = 0;
    } else if (this.#head > COMPACT_AT && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }

  /** The entry that was pushed first. */
  get oldest(): Entry | undefined {
    return this.#entries[this.#head];
  }

  /** Its entries, in order. */
  entries(): Entry[] {
    return this.#entries.filter((entry): entry is Entry => entry?.flow === this);
  }

  /** Removes and returns its entries, in order. */
  removeAll(): Entry[] {
    const all = this.entries();
    for (const entry of all) this.#release(entry);
    this.#entries = [];
    this.#head = 0;
    return all;
  }

  #release(entry: Entry): void {
    entry.flow = undefined;
    this.records--;
    this.#totals.bytes -= entry.record.value.length;
    this.#totals.records--;
    const { bulk } = entry.waiter;
    if (bulk) this.#totals.share.left(bulk, this);
  }
}

interface TopicFlows {
  /** Bytes of the largest value that Kafka accepts. */
  limit: number;
  partitions: (Flow | undefined)[];
}

/** The accepted records that are not durable yet, by partition. */
export class InFlight implements Totals {
  readonly #topics = new Map<string, TopicFlows>();
  readonly #limitOf: (topic: string) => number;
  readonly share: BulkShare;
  readonly flows: Flow[] = [];
  bytes = 0;
  records = 0;

  constructor(limitOf: (topic: string) => number, share: BulkShare) {
    this.#limitOf = limitOf;
    this.share = share;
  }

  limitOf(topic: string): number {
    return this.#topicOf(topic).limit;
  }

  of(topic: string, partition: number): Flow {
    const { partitions } = this.#topicOf(topic);
    const known = partitions[partition];
    if (known) return known;
    const flow = new Flow({ topic, partition }, this);
    partitions[partition] = flow;
    this.flows.push(flow);
    return flow;
  }

  /** Reads the limits of the topics again. */
  readLimits(): void {
    for (const [topic, flows] of this.#topics) flows.limit = this.#limitOf(topic);
  }

  /** Removes and returns all entries; those of a partition in order. */
  removeAll(): Entry[] {
    return this.flows.flatMap((flow) => flow.removeAll());
  }

  #topicOf(topic: string): TopicFlows {
    let flows = this.#topics.get(topic);
    if (!flows) {
      flows = { limit: this.#limitOf(topic), partitions: [] };
      this.#topics.set(topic, flows);
    }
    return flows;
  }
}
