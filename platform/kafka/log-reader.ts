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

/**
 * Reads until closed. An idle topic is watched for one message; once it comes, all that the client has at hand follows without waiting:
 * a single event is handed over at once, a stream in large pieces. Trouble with Kafka is waited out; only what is fatal rejects.
 */
export class LogReader {
  readonly #options: ReaderOptions;
  #average = 1024;
  #down = false;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  get healthy(): boolean {
    return !this.#down;
  }

  /** The client says so; from now on a broker is asked until it answers. */
  brokersDown(): void {
    if (!this.#down) this.#options.log.warn({ code: 'kafka_unreachable' }, 'no Kafka broker can be reached; reading goes on as soon as one answers');
    this.#down = true;
  }

  async run(): Promise<void> {
    const { closing, client } = this.#options;
    while (!closing.aborted) {
      try {
        if (this.#down) await this.#recover(client);
        if ((await this.#readOnce(client)) > 0) await delay(this.#gather(), closing).catch(() => undefined);
      } catch (error) {
        if (!(error instanceof KafkaTrouble) || error.fatal) throw error;
        this.#report(error);
        await delay(200 + Math.random() * 300, closing).catch(() => undefined);
      }
    }
  }

  async #readOnce(client: ConsumerClient): Promise<number> {
    let read = 0;
    let messages = await client.consume(1, IDLE);
    while (messages.length > 0) {
      read += messages.length;
      this.#average = 0.9 * this.#average + 0.1 * mean(messages);
      this.#options.deliver(messages);
      if (this.#options.closing.aborted) break;
      messages = await client.consume(Math.max(1, Math.min(MOST_RECORDS, Math.floor(MOST_BYTES / this.#average))), 0);
    }
    return read;
  }

  async #recover(client: ConsumerClient): Promise<void> {
    await client.probe();
    this.#down = false;
    this.#options.log.info('Kafka is reachable again');
  }

  #report(error: KafkaTrouble): void {
    if (!this.#down) this.#options.log.warn({ code: 'kafka_trouble', kafka_code: error.kafkaCode }, `Kafka: ${error.message}; trying again`);
    this.#down = true;
  }

  /** A short pause after a burst, so that a stream of single messages does not cost one round of the thread pool each. */
  #gather(): number {
    return Math.max(1, Math.min(5, this.#options.linger / 10));
  }
}

function mean(messages: readonly ConsumedMessage[]): number {
  return messages.reduce((sum, { size }) => sum + size + 100, 0) / messages.length;
}
