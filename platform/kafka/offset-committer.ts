import type { Log } from '../log.ts';
import { KafkaError, type PartitionOffset } from './consumer-client.ts';

interface CommitterOptions {
  log: Log;
  /** Awaited before each commit is sent; a rejection ends the commits. */
  before?: (() => Promise<void>) | undefined;
  /** Minimum time between two commits, ms. */
  interval?: number | undefined;
  /** Sends a commit; its outcome is passed to `complete`. May throw. */
  send(offsets: readonly PartitionOffset[]): void;
  /** Delay before a failed commit is retried, ms. */
  retryAfter: number;
  /** A commit without an outcome after this time counts as failed, ms. */
  timeout: number;
}

/**
 * Commits the newest offset of each partition, one request at a time: offsets that arrive
 * meanwhile are sent with the next request. A failed commit is retried while the partition is
 * assigned. A crash before it succeeds re-delivers records, which tasks deduplicate.
 */
export class OffsetCommitter {
  readonly #options: CommitterOptions;
  readonly #wanted = new Map<number, number>();
  #pending: Map<number, number> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Callers that wait for all commits: the interval does not apply. */
  #flushing = 0;
  #idle: (() => void)[] = [];

  failures = 0;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  commit(partition: number, offset: number): void {
    this.#wanted.set(partition, offset);
    if (!this.#pending && !this.#timer) this.#send();
  }

  /** The partition was revoked: drops what has not been sent. */
  forget(partition: number): void {
    this.#wanted.delete(partition);
    this.#pending?.delete(partition);
    this.#wake();
  }

  /** Outcome of the pending commit. */
  complete(error: KafkaError | undefined): void {
    const sent = this.#pending;
    if (!sent) return;
    this.#stopTimer();
    this.#pending = undefined;
    if (error) {
      this.failures++;
      this.#options.log.info(
        { code: 'commit_failed', kafka_code: error.kafkaCode },
        `an offset commit failed and is retried: ${error.message}`,
      );
      for (const [partition, offset] of sent)
        if (!this.#wanted.has(partition)) this.#wanted.set(partition, offset);
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#send();
      }, this.#options.retryAfter);
    } else this.#sendAfter(this.#options.interval ?? 0);
    this.#wake();
  }

  /** Sends what is waiting; resolves when nothing is waiting or pending, or after `ms`. */
  async flush(ms: number): Promise<void> {
    if (this.#isIdle()) return;
    if (!this.#pending) {
      this.#stopTimer();
      this.#send();
    }
    this.#flushing++;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#idle.push(resolve);
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
    this.#flushing--;
  }

  close(): void {
    this.#wanted.clear();
    this.#pending = undefined;
    this.#stopTimer();
    this.#wake();
  }

  #send(): void {
    if (this.#wanted.size === 0) return;
    this.#pending = new Map(this.#wanted);
    this.#wanted.clear();
    this.#timer = setTimeout(() => {
      this.complete(new KafkaError(new Error('no answer')));
    }, this.#options.timeout);
    const { before } = this.#options;
    if (!before) return this.#transmit(this.#pending);
    const pending = this.#pending;
    before().then(
      () => this.#transmit(pending),
      () => undefined,
    );
  }

  #transmit(pending: ReadonlyMap<number, number>): void {
    if (this.#pending !== pending) return;
    const offsets = [...pending].map(([partition, offset]) => ({ partition, offset }));
    if (offsets.length === 0) return this.complete(undefined);
    try {
      this.#options.send(offsets);
    } catch (error) {
      this.complete(error as KafkaError);
    }
  }

  #sendAfter(ms: number): void {
    if (ms === 0 || this.#flushing > 0) return this.#send();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#send();
    }, ms);
  }

  #isIdle(): boolean {
    return this.#wanted.size === 0 && (this.#pending?.size ?? 0) === 0;
  }

  #wake(): void {
    if (!this.#isIdle()) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
