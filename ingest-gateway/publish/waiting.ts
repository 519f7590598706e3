import type { Entry } from './in-flight.ts';

/** An account sends so many bytes per turn; a larger record takes several turns. */
const TURN_BYTES = 64 * 1024;

interface AccountQueue {
  entries: Entry[];
  head: number;
  bytes: number;
  /** Bytes that it may still send in its turn. */
  credit: number;
}

/**
 * Records that wait in memory until others are acknowledged: in order within an account, and the
 * accounts take turns. An account may fill as much as it leaves free, so that alone it has half of
 * the room, and there is always room for another account.
 */
export class Waiting {
  readonly #maxBytes: number;
  /** Insertion order is the order of turns. */
  readonly #accounts = new Map<number, AccountQueue>();
  bytes = 0;
  records = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** False: the account's share is full. */
  push(entry: Entry): boolean {
    const { accountId, value } = entry.record;
    let queue = this.#accounts.get(accountId);
    if ((queue?.bytes ?? 0) + value.length > this.#maxBytes - this.bytes) return false;
    if (!queue) {
      queue = { entries: [], head: 0, bytes: 0, credit: TURN_BYTES };
      this.#accounts.set(accountId, queue);
    }
    queue.entries.push(entry);
    queue.bytes += value.length;
    this.bytes += value.length;
    this.records++;
    return true;
  }

  /** Removes the record whose turn it is; undefined when it has more than `room` bytes. */
  take(room: number): Entry | undefined {
    for (const [accountId, queue] of this.#accounts) {
      const entry = queue.entries[queue.head];
      if (!entry || entry.record.value.length > room) return undefined;
      if (entry.record.value.length <= queue.credit) {
        this.#remove(entry, queue);
        return entry;
      }
      queue.credit += TURN_BYTES;
      this.#accounts.delete(accountId);
      this.#accounts.set(accountId, queue);
    }
    return undefined;
  }

  /** Removes and returns all records, those of an account in order. */
  removeAll(): Entry[] {
    const all = [...this.#accounts.values()].flatMap(({ entries, head }) => entries.slice(head));
    this.#accounts.clear();
    this.bytes = 0;
    this.records = 0;
    return all;
  }

  #remove({ record }: Entry, queue: AccountQueue): void {
    queue.head++;
    queue.credit -= record.value.length;
    queue.bytes -= record.value.length;
    this.bytes -= record.value.length;
    this.records--;
    if (queue.head === queue.entries.length) this.#accounts.delete(record.accountId);
    else if (queue.head > 1024 && queue.head * 2 > queue.entries.length) {
      queue.entries = queue.entries.slice(queue.head);
      queue.head = 0;
    }
  }
}
