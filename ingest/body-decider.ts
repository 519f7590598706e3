import { FairQueue } from '../platform/fair-queue.ts';
import { decideBody, type BodyToDecide, type DecidedBody } from './decide-body.ts';
import { DecideThread } from './decide-thread.ts';
import { isCheapToParse } from './parse-cost.ts';

export interface BodyDeciderOptions {
  /** Limit of one body: the thread's memory is a multiple of it. */
  maxBodyBytes: number;
  random: () => number;
  /** The thread was ended: its heap was full, or a body took too long. */
  onFailure?: (error: unknown) => void;
}

/** Bodies that wait for the thread; each counts against the budget of bodies meanwhile. */
const MAX_WAITING = { total: 256, perAccount: 32 };

/**
 * Decides bodies: cheap ones at once; the others, one after the other, in a thread of low priority,
 * so that no body stops the event loop for long. Accounts take turns.
 */
export class BodyDecider {
  readonly #options: BodyDeciderOptions;
  readonly #queue = new FairQueue({ concurrency: 1, maxWaiting: MAX_WAITING });
  readonly #thread: DecideThread;
  readonly counters = { inline: 0, thread: 0, refused: 0, failed: 0 };

  constructor(options: BodyDeciderOptions) {
    this.#options = options;
    this.#thread = new DecideThread(options.maxBodyBytes);
  }

  /** Resolves with undefined when there is no room or the thread fails: the answer is 503. */
  decide(
    input: BodyToDecide,
    accountId: number,
  ): DecidedBody | Promise<DecidedBody | undefined> | undefined {
    if (isCheapToParse(input.body, this.#options.random)) {
      this.counters.inline++;
      return decideBody(input);
    }
    const decided = this.#queue.run(accountId, () => this.#inThread(input));
    this.counters[decided ? 'thread' : 'refused']++;
    return decided;
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  async close(): Promise<void> {
    await this.#thread.end();
  }

  async #inThread(input: BodyToDecide): Promise<DecidedBody | undefined> {
    try {
      return await this.#thread.decide(input);
    } catch (error) {
      this.counters.failed++;
      this.#options.onFailure?.(error);
      return undefined;
    }
  }
}
