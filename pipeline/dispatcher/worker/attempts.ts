import { openAttempts, type ChunkState } from '../chunk/chunk-state.ts';
import type { PreparedMessage } from './ports.ts';
import { MAX_LOST_ANSWERS, retryAt } from './retry-policy.ts';

/** When a call was answered, ms since the epoch, and with a number in [0, 1). */
export interface AnsweredAt {
  now: number;
  random: number;
  /** Of the run: retries end then. */
  deadlineAt: number;
}

/** Calls of the provider for each recipient of a chunk, and when there may be a next one. */
export class Attempts {
  readonly #calls: Map<number, number>;
  readonly #lost: Set<number>;

  constructor(state: ChunkState) {
    this.#calls = new Map(state.retries.map(({ index, attempts }) => [index, attempts]));
    this.#lost = new Set(openAttempts(state));
    for (const index of this.#lost) this.#calls.set(index, this.of(index) + 1);
  }

  of(index: number): number {
    return this.#calls.get(index) ?? 0;
  }

  /** An attempt may still arrive at the provider: never unopened again. */
  isLost(index: number): boolean {
    return this.#lost.has(index);
  }

  called(index: number, { messages }: PreparedMessage): void {
    this.#calls.set(index, this.of(index) + messages.length);
  }

  /** The provider has no message: when it is called again; undefined: not any more. */
  retryAt(
    index: number,
    { messages }: PreparedMessage,
    at: AnsweredAt & { afterMs?: number | undefined },
  ): number | undefined {
    const attempts = Math.ceil(this.of(index) / messages.length);
    return retryAt({ attempts, ...at, afterMs: at.afterMs });
  }

  /** An answer is lost: when an idempotent provider is asked again; undefined: not any more. */
  repeatAt(index: number, message: PreparedMessage, at: AnsweredAt): number | undefined {
    this.#lost.add(index);
    if (this.of(index) >= MAX_LOST_ANSWERS * message.messages.length) return undefined;
    return this.retryAt(index, message, at);
  }
}
