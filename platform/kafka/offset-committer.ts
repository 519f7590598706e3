import type { Log } from '../log.ts';
import { KafkaTrouble, type PartitionOffset } from './consumer-client.ts';

interface CommitterOptions {
  log: Log;
  /** Sends a commit; its outcome comes to `settled`. May throw. */
  send(offsets: readonly PartitionOffset[]): void;
  /** After a failure the next attempt waits this long, ms. */
  retryAfter: number;
  /** A commit without an outcome for this long is given up, ms. */
  timeout: number;
}

/**
 * Commits the newest offset of each partition, one request under way at a time: what comes
 * meanwhile goes out together with the next. A commit that fails is tried again as long as the
 * partition is ours; until then a crash costs a repeated read, which tasks recognise.
 */
export class OffsetCommitter {
  readonly #options: CommitterOptions;
  readonly #wanted = new Map<number, number>();
  #underWay: Map<number, number> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #idle: (() => void)[] = [];
  /** Commits that failed since the start. */
  failures = 0;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  commit(partition: number, offset: number): void {
    this.#wanted.set(partition, offset);
    if (!this.#underWay && !this.#timer) this.#send();
  }

  /** The partition is not ours any more: what has not been sent is not sent. */
  forget(partition: number): void {
    this.#wanted.delete(partition);
    this.#underWay?.delete(partition);
    this.#wake();
  }

  /** Outcome of the commit under way. */
  settled(error: KafkaTrouble | undefined): void {
    const sent = this.#underWay;
    if (!sent) return;
    this.#stopTimer();
    this.#underWay = undefined;
    if (error) {
      this.failures++;
      this.#options.log.info(
        { code: 'commit_failed', kafka_code: error.kafkaCode },
        `a commit failed and is tried again: ${error.message}`,
      );
      for (const [partition, offset] of sent)
        if (!this.#wanted.has(partition)) this.#wanted.set(partition, offset);
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#send();
      }, this.#options.retryAfter);
    } else this.#send();
    this.#wake();
  }

  /** Resolves when nothing waits or is under way any more, or after `ms`. */
  async flush(ms: number): Promise<void> {
    if (this.#isIdle()) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#idle.push(resolve);
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
  }

  close(): void {
    this.#wanted.clear();
    this.#underWay = undefined;
    this.#stopTimer();
    this.#wake();
  }

  #send(): void {
    if (this.#wanted.size === 0) return;
    const offsets = [...this.#wanted].map(([partition, offset]) => ({ partition, offset }));
    this.#underWay = new Map(this.#wanted);
    this.#wanted.clear();
    this.#timer = setTimeout(() => {
      this.settled(new KafkaTrouble(new Error('no answer')));
    }, this.#options.timeout);
    try {
      this.#options.send(offsets);
    } catch (error) {
      this.settled(error as KafkaTrouble);
    }
  }

  #isIdle(): boolean {
    return this.#wanted.size === 0 && (this.#underWay?.size ?? 0) === 0;
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
