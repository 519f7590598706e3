import type { Call, PreparedMessage } from './ports.ts';

/** A recipient looked up longer ago is looked up again before it is opened, ms. */
export const RESOLVED_FRESH_MS = 10_000;

export function isStale({ resolvedAt }: PreparedMessage, now: number): boolean {
  return now - resolvedAt > RESOLVED_FRESH_MS;
}

/** Prepared messages in the order in which they were prepared; they leave at its beginning. */
export class ReadyMessages {
  #all: Call[] = [];
  /** Calls of all of them. */
  #calls = 0;

  get size(): number {
    return this.#all.length;
  }

  /** Calls that the first of them take, of at most `max` messages. */
  calls(max: number): number {
    if (this.#all.length <= max) return this.#calls;
    // One of each: this is asked with every answer.
    if (this.#all.length === this.#calls) return max;
    const first = this.#all.slice(0, max);
    return first.reduce((calls, { message: { messages } }) => calls + messages.length, 0);
  }

  add(call: Call): void {
    this.#all.push(call);
    this.#calls += call.message.messages.length;
  }

  /** As many as there are permits for; those whose recipients were looked up too long ago apart. */
  take({ permits, now }: { permits: number; now: number }): { fresh: Call[]; stale: number[] } {
    const fresh: Call[] = [];
    const stale: number[] = [];
    let free = permits;
    for (const call of this.#all) {
      const { index, message } = call;
      if (isStale(message, now)) stale.push(index);
      else if (free > 0) {
        // One with more calls than there are permits exceeds them, rather than never to be sent.
        free -= message.messages.length;
        fresh.push(call);
      } else break;
      this.#calls -= message.messages.length;
    }
    const count = fresh.length + stale.length;
    if (count > 0) this.#all.splice(0, count);
    return { fresh, stale };
  }

  takeAll(): Call[] {
    const all = this.#all;
    [this.#all, this.#calls] = [[], 0];
    return all;
  }
}
