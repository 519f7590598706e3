import type { ConsumedMessage } from './consumer.ts';

export interface BatchLimits {
  records: number;
  bytes: number;
  /** How long messages wait for company, ms since the first waiting one. */
  linger: number;
  /**
   * Least time between the beginnings of two takes, ms: under load it makes batches large, and
   * costs an idle partition nothing.
   */
  interval?: number;
}

/** A hole in a partition: records between two offsets never came. */
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
  /** When it came, ms on the caller's clock. */
  since: number;
}

/**
 * Messages of one partition that wait for their take, in order. Offsets that came before are
 * dropped, so a client that reads again after a pause does no harm.
 */
export class PartitionBuffer {
  readonly #limits: BatchLimits;
  #waiting: Waiting[] = [];
  #head = 0;
  #bytes = 0;
  #next: number | undefined;
  #lastTake = Number.NEGATIVE_INFINITY;

  constructor(limits: BatchLimits) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#waiting.length - this.#head;
  }

  get oldest(): ConsumedMessage | undefined {
    return this.#waiting[this.#head]?.message;
  }

  /** More than two takes wait: stop reading. */
  get full(): boolean {
    return this.length >= 2 * this.#limits.records || this.#bytes >= 2 * this.#limits.bytes;
  }

  /** Less than one take waits: read on. */
  get hungry(): boolean {
    return this.length < this.#limits.records && this.#bytes < this.#limits.bytes;
  }

  /** Answers false when the message came before. Throws LogGap. */
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

  /** How long until the next take is due, ms; undefined when nothing waits. */
  dueIn(now: number): number | undefined {
    const first = this.#waiting[this.#head];
    if (!first) return undefined;
    const whole = this.length >= this.#limits.records || this.#bytes >= this.#limits.bytes;
    if (whole) return 0;
    const due = Math.max(
      first.since + this.#limits.linger,
      this.#lastTake + (this.#limits.interval ?? 0),
    );
    return Math.max(0, due - now);
  }

  /** Takes up to the limits; always at least one message when one waits. */
  take(now: number): ConsumedMessage[] {
    this.#lastTake = now;
    let end = this.#head;
    let bytes = 0;
    while (end < this.#waiting.length && end - this.#head < this.#limits.records) {
      const size = this.#waiting[end]?.message.size ?? 0;
      if (end > this.#head && bytes + size > this.#limits.bytes) break;
      bytes += size;
      end++;
    }
    const taken = this.#waiting.slice(this.#head, end).map(({ message }) => message);
    this.#bytes -= bytes;
    this.#head = end;
    if (this.#head === this.#waiting.length || this.#head > 10_000) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    return taken;
  }
}
