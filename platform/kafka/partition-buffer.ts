import type { BatchLimits, ConsumedMessage } from './consumer-types.ts';

/** Records between two offsets of a partition were never delivered. */
export class LogGap extends Error {
  readonly expected: number;
  readonly found: number;
  constructor(expected: number, found: number) {
    super(`expected offset ${expected}, found ${found}`);
    this.name = 'LogGap';
    this.expected = expected;
    this.found = found;
  }
}

interface Waiting {
  message: ConsumedMessage;
  /** When it arrived, ms on the caller's clock. */
  since: number;
}

/**
 * Messages of one partition that wait to be processed, in order. Offsets seen before are dropped:
 * the client may re-deliver records after a pause.
 */
export class PartitionBuffer {
  readonly #limitsNow: () => BatchLimits;
  #waiting: Waiting[] = [];
  #head = 0;
  #bytes = 0;
  #next: number | undefined;
  #lastBatchAt = Number.NEGATIVE_INFINITY;

  /** @param limits those of now: they depend on how many partitions the process has */
  constructor(limits: BatchLimits | (() => BatchLimits)) {
    this.#limitsNow = typeof limits === 'function' ? limits : () => limits;
  }

  get #limits(): BatchLimits {
    return this.#limitsNow();
  }

  get length(): number {
    return this.#waiting.length - this.#head;
  }

  get oldest(): ConsumedMessage | undefined {
    return this.#waiting[this.#head]?.message;
  }

  /** At least two batches are waiting: pause fetching. */
  get isFull(): boolean {
    return this.length >= 2 * this.#limits.records || this.#bytes >= 2 * this.#limits.bytes;
  }

  /** Less than one batch is waiting: resume fetching. */
  get hasRoom(): boolean {
    return this.length < this.#limits.records && this.#bytes < this.#limits.bytes;
  }

  /** Returns false for an offset seen before. Throws LogGap. */
  push(message: ConsumedMessage, now: number): boolean {
    const expected = this.#next;
    if (expected !== undefined && message.offset < expected) return false;
    if (expected !== undefined && message.offset > expected)
      throw new LogGap(expected, message.offset);
    this.#next = message.offset + 1;
    this.#bytes += message.size;
    this.#waiting.push({ message, since: now });
    return true;
  }

  /** Time until the next batch is due, ms; undefined when nothing is waiting. */
  dueIn(now: number): number | undefined {
    const first = this.#waiting[this.#head];
    if (!first) return undefined;
    const isComplete = this.length >= this.#limits.records || this.#bytes >= this.#limits.bytes;
    if (isComplete) return 0;
    const due = Math.max(
      first.since + this.#limits.linger,
      this.#lastBatchAt + (this.#limits.interval ?? 0),
    );
    return Math.max(0, due - now);
  }

  /** Removes messages up to the limits; at least one when any is waiting. */
  nextBatch(now: number): ConsumedMessage[] {
    this.#lastBatchAt = now;
    const limits = this.#limits;
    let end = this.#head;
    let bytes = 0;
    while (end < this.#waiting.length && end - this.#head < limits.records) {
      const size = this.#waiting[end]?.message.size ?? 0;
      if (end > this.#head && bytes + size > limits.bytes) break;
      bytes += size;
      end++;
    }
    const batch = this.#waiting.slice(this.#head, end).map(({ message }) => message);
    this.#bytes -= bytes;
    this.#head = end;
    if (this.#head === this.#waiting.length || this.#head > 10_000) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    return batch;
  }
}
