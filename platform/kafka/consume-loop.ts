import { delay } from '../backoff.ts';
import type { Log } from '../log.ts';
import { isNotInLog, KafkaError, type ConsumerClient } from './consumer-client.ts';
import type { ConsumedMessage } from './consumer-types.ts';

interface LoopOptions {
  client: ConsumerClient;
  log: Log;
  closing: AbortSignal;
  deliver(messages: readonly ConsumedMessage[]): void;
  /** Linger of the batches, ms. */
  linger: number;
  /** A position is not in the log: which partition, the client does not say. */
  onNotInLog(): void;
}

/**
 * Timeout of one poll of an idle topic, and of one without a record for half a minute, ms: it
 * occupies a thread of the pool that long, and a consumer that closes waits for its end.
 */
const IDLE_POLL_MS = 1000;
const QUIET_POLL_MS = 2000;
const QUIET_AFTER_MS = 30_000;
const MAX_RECORDS = 2000;
const MAX_BYTES = 8 * 1024 * 1024;
/** After this long without a record, a broker is probed; after a lost connection at once, ms. */
const PROBE_AFTER_MS = 10_000;
/** While no broker answers, ms. */
const PROBE_AGAIN_MS = 1000;

/**
 * Polls until closed. An idle topic is polled for one message; when it arrives, everything else
 * the client has fetched follows without waiting: a single event is delivered at once, a stream in
 * large batches. Kafka errors are retried; only fatal ones reject. Polling continues while Kafka
 * is unreachable: rebalances and commit outcomes are delivered by it.
 */
export class ConsumeLoop {
  readonly #options: LoopOptions;
  #average = 1024;
  #down = false;
  #lastResponseAt = performance.now();
  #lastRecordAt = performance.now();
  #wake = new AbortController();

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  get healthy(): boolean {
    return !this.#down;
  }

  /** A connection was lost: the broker is probed now. */
  suspect(): void {
    if (this.#down) return;
    this.#lastResponseAt = Number.NEGATIVE_INFINITY;
    this.#wake.abort();
  }

  async run(): Promise<void> {
    const watching = this.#watch();
    const { closing, client } = this.#options;
    while (!closing.aborted) {
      try {
        if ((await this.#readOnce(client)) > 0)
          await delay(this.#pause(), closing).catch(() => undefined);
      } catch (error) {
        if (!(error instanceof KafkaError) || error.fatal) throw error;
        if (isNotInLog(error)) {
          this.#options.onNotInLog();
          continue;
        }
        this.#setDown(error.message);
        await delay(200 + Math.random() * 300, closing).catch(() => undefined);
      }
    }
    await watching;
  }

  async #readOnce(client: ConsumerClient): Promise<number> {
    let read = 0;
    const isQuiet = performance.now() - this.#lastRecordAt > QUIET_AFTER_MS;
    let messages = await client.consume(1, isQuiet ? QUIET_POLL_MS : IDLE_POLL_MS);
    while (messages.length > 0) {
      this.#lastResponseAt = this.#lastRecordAt = performance.now();
      read += messages.length;
      this.#average = 0.9 * this.#average + 0.1 * mean(messages);
      this.#options.deliver(messages);
      if (this.#options.closing.aborted) break;
      messages = await client.consume(
        Math.max(1, Math.min(MAX_RECORDS, Math.floor(MAX_BYTES / this.#average))),
        0,
      );
    }
    return read;
  }

  /** The client does not report unreachable brokers. */
  async #watch(): Promise<void> {
    const { closing, client, log } = this.#options;
    while (!closing.aborted) {
      const silent = performance.now() - this.#lastResponseAt;
      const pause = this.#down ? PROBE_AGAIN_MS : PROBE_AFTER_MS - silent;
      if (pause > 0) {
        this.#wake = new AbortController();
        const woken = AbortSignal.any([closing, this.#wake.signal]);
        await delay(pause, woken).catch(() => undefined);
        if (!this.#down) continue;
      }
      try {
        await client.probe();
        this.#lastResponseAt = performance.now();
        if (this.#down) log.info('Kafka is reachable again');
        this.#down = false;
      } catch (error) {
        this.#setDown(error instanceof Error ? error.message : String(error));
      }
    }
  }

  #setDown(message: string): void {
    if (!this.#down)
      this.#options.log.warn(
        { code: 'kafka_unreachable' },
        `Kafka: ${message}; consuming resumes when it answers`,
      );
    this.#down = true;
  }

  /**
   * A short pause after a burst, so that a stream of single messages does not cost one thread pool
   * round trip each.

   */
  #pause(): number {
    return Math.max(1, Math.min(10, this.#options.linger / 2));
  }
}

function mean(messages: readonly ConsumedMessage[]): number {
  return messages.reduce((sum, { size }) => sum + size + 100, 0) / messages.length;
}
