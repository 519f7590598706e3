import { delay } from '../backoff.ts';
import type { Log } from '../log.ts';
import { KafkaTrouble, type ConsumerClient } from './consumer-client.ts';
import type { ConsumedMessage } from './consumer.ts';

interface ReaderOptions {
  client: ConsumerClient;
  log: Log;
  closing: AbortSignal;
  deliver(messages: readonly ConsumedMessage[]): void;
  /** How long messages wait for company anyway, ms. */
  linger: number;
}

/** How long one look at an idle topic lasts, ms: it holds one thread of the pool that long. */
const IDLE = 100;
const MOST_RECORDS = 2000;
const MOST_BYTES = 8 * 1024 * 1024;
/** When nothing came for this long a broker is asked whether it is there, ms. */
const QUIET = 3000;

/**
 * Reads until closed. An idle topic is watched for one message; once it comes, all that the client
 * has at hand follows without waiting: a single event is handed over at once, a stream in large
 * pieces. Trouble with Kafka is waited out; only what is fatal rejects. Reading never stops while
 * Kafka is away: rebalances and outcomes of commits come with it.
 */
export class LogReader {
  readonly #options: ReaderOptions;
  #average = 1024;
  #down = false;
  #lastSign = performance.now();

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  get healthy(): boolean {
    return !this.#down;
  }

  async run(): Promise<void> {
    const watching = this.#watch();
    const { closing, client } = this.#options;
    while (!closing.aborted) {
      try {
        if ((await this.#readOnce(client)) > 0)
          await delay(this.#gather(), closing).catch(() => undefined);
      } catch (error) {
        if (!(error instanceof KafkaTrouble) || error.fatal) throw error;
        this.#setDown(error.message);
        await delay(200 + Math.random() * 300, closing).catch(() => undefined);
      }
    }
    await watching;
  }

  async #readOnce(client: ConsumerClient): Promise<number> {
    let read = 0;
    let messages = await client.consume(1, IDLE);
    while (messages.length > 0) {
      this.#lastSign = performance.now();
      read += messages.length;
      this.#average = 0.9 * this.#average + 0.1 * mean(messages);
      this.#options.deliver(messages);
      if (this.#options.closing.aborted) break;
      messages = await client.consume(
        Math.max(1, Math.min(MOST_RECORDS, Math.floor(MOST_BYTES / this.#average))),
        0,
      );
    }
    return read;
  }

  /** The client itself says nothing when its brokers are gone. */
  async #watch(): Promise<void> {
    const { closing, client, log } = this.#options;
    while (!closing.aborted) {
      await delay(QUIET / 3, closing).catch(() => undefined);
      if (!this.#down && performance.now() - this.#lastSign < QUIET) continue;
      try {
        await client.probe();
        this.#lastSign = performance.now();
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
        `Kafka: ${message}; reading goes on as soon as it answers`,
      );
    this.#down = true;
  }

  /**
   * A short pause after a burst, so that a stream of single messages does not cost one round of the
   * thread pool each.
   */
  #gather(): number {
    return Math.max(1, Math.min(10, this.#options.linger / 2));
  }
}

function mean(messages: readonly ConsumedMessage[]): number {
  return messages.reduce((sum, { size }) => sum + size + 100, 0) / messages.length;
}
