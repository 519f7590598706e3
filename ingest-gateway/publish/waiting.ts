import { isAdmitted, type BulkShare } from './bulk-share.ts';
import type { Entry, Flow } from './in-flight.ts';

/** An account sends so many bytes per turn; a larger record takes several turns. */
const TURN_BYTES = 64 * 1024;

/** Records of one account and partition, in order. */
interface PartitionRecords {
  entries: Entry[];
  head: number;
}

interface AccountQueue {
  partitions: Map<Flow, PartitionRecords>;
  bytes: number;
  /** Bytes that it may still send in its turn. */
  credit: number;
}

/**
 * Records that wait in memory until others are acknowledged: in order within an account and
 * partition, and the accounts take turns. An account may fill as much as it leaves free, so that
 * alone it has half of the room, and there is always room for another account. An account whose
 * share of partitions is in flight has no turn until one of them is acknowledged.
 */
export class Waiting {
  readonly #maxBytes: number;
  /** Insertion order is the order of turns. */
  readonly #ready = new Map<number, AccountQueue>();
  /** Accounts that have used their share: they may send none of their records now. */
  readonly #exhausted = new Map<number, AccountQueue>();
  bytes = 0;
  records = 0;

  constructor(maxBytes: number, share: BulkShare) {
    this.#maxBytes = maxBytes;
    share.onFreed = (accountId) => this.#makeReady(accountId);
  }

  /** True when nothing that may be sent waits, and nothing that must be sent before the entry. */
  mayPass(entry: Entry, flow: Flow): boolean {
    if (this.#ready.size > 0 || !isAdmitted(entry.waiter.bulk, flow)) return false;
    return this.records === 0 || !this.#exhausted.get(entry.record.accountId)?.partitions.has(flow);
  }

  /** False: the account's share is full. */
  push(entry: Entry, flow: Flow): boolean {
    const { accountId, value } = entry.record;
    let queue = this.#ready.get(accountId) ?? this.#exhausted.get(accountId);
    if ((queue?.bytes ?? 0) + value.length > this.#maxBytes - this.bytes) return false;
    if (!queue) {
      queue = { partitions: new Map(), bytes: 0, credit: TURN_BYTES };
      this.#ready.set(accountId, queue);
    }
    const waiting = queue.partitions.get(flow);
    if (waiting) waiting.entries.push(entry);
    else {
      queue.partitions.set(flow, { entries: [entry], head: 0 });
      if (isAdmitted(entry.waiter.bulk, flow)) this.#makeReady(accountId);
    }
    queue.bytes += value.length;
    this.bytes += value.length;
    this.records++;
    return true;
  }

  /** Removes the record whose turn it is; undefined when it has more than `room` bytes. */
  take(room: number): Entry | undefined {
    for (const [accountId, queue] of this.#ready) {
      const next = this.#nextOf(queue);
      if (!next) {
        this.#ready.delete(accountId);
        this.#exhausted.set(accountId, queue);
        continue;
      }
      const { length } = next.entry.record.value;
      if (length > room) return undefined;
      if (length <= queue.credit) {
        this.#remove(next, queue);
        return next.entry;
      }
      queue.credit += TURN_BYTES;
      this.#ready.delete(accountId);
      this.#ready.set(accountId, queue);
    }
    return undefined;
  }

  /** Removes and returns all records, those of an account and partition in order. */
  removeAll(): Entry[] {
    const queues = [...this.#ready.values(), ...this.#exhausted.values()];
    const all = queues.flatMap(({ partitions }) =>
      [...partitions.values()].flatMap(({ entries, head }) => entries.slice(head)),
    );
    this.#ready.clear();
    this.#exhausted.clear();
    this.bytes = 0;
    this.records = 0;
    return all;
  }

  /** The first record of the first partition to which the account may send. */
  #nextOf({
    partitions,
  }: AccountQueue): { flow: Flow; records: PartitionRecords; entry: Entry } | undefined {
    for (const [flow, records] of partitions) {
      const entry = records.entries[records.head];
      if (entry && isAdmitted(entry.waiter.bulk, flow)) return { flow, records, entry };
    }
    return undefined;
  }

  #makeReady(accountId: number): void {
    const queue = this.#exhausted.get(accountId);
    if (!queue) return;
    this.#exhausted.delete(accountId);
    this.#ready.set(accountId, queue);
  }

  #remove(
    { flow, records, entry: { record } }: { flow: Flow; records: PartitionRecords; entry: Entry },
    queue: AccountQueue,
  ): void {
    const { accountId, value } = record;
    records.head++;
    queue.credit -= value.length;
    queue.bytes -= value.length;
    this.bytes -= value.length;
    this.records--;
    if (records.head === records.entries.length) {
      queue.partitions.delete(flow);
      if (queue.partitions.size === 0) this.#ready.delete(accountId);
    } else if (records.head > 1024 && records.head * 2 > records.entries.length) {
      records.entries = records.entries.slice(records.head);
      records.head = 0;
    }
  }
}
