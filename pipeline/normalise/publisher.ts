import type { LogProducer, OutgoingRecord } from '../../platform/kafka/producer.ts';

/** Hands records to the producer and holds back while too many bytes are on their way. */
export class Publisher {
  readonly #producer: Pick<LogProducer, 'send'>;
  readonly #limit: number;
  #bytes = 0;
  #waiting: (() => void)[] = [];

  /** limit: bytes without an acknowledgement above which `room` waits. One record may exceed it. */
  constructor(producer: Pick<LogProducer, 'send'>, limit: number) {
    this.#producer = producer;
    this.#limit = limit;
  }

  /**
   * Resolves when more may be sent: records are acknowledged or given up after the producer's
   * timeout, so it does.
   */
  async waitForCapacity(): Promise<void> {
    while (this.#bytes >= this.#limit)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  begin(): PublishBatch {
    return new PublishBatch((record, done) => {
      const bytes = record.value.length;
      this.#bytes += bytes;
      try {
        this.#producer.send(record, (error) => {
          this.#release(bytes);
          done(error);
        });
      } catch (error) {
        this.#release(bytes);
        throw error;
      }
    });
  }

  #release(bytes: number): void {
    this.#bytes -= bytes;
    if (this.#bytes < this.#limit) for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** Records that belong together: all of them are acknowledged, or the shipment has failed. */
export class PublishBatch {
  readonly #send: (record: OutgoingRecord, done: (error: Error | undefined) => void) => void;
  #open = 0;
  #failure: Error | undefined;
  #settled: (() => void) | undefined;

  constructor(send: (record: OutgoingRecord, done: (error: Error | undefined) => void) => void) {
    this.#send = send;
  }

  /** Throws PublishFailed when the producer takes no more. */
  send(record: OutgoingRecord): void {
    if (this.#failure) throw this.#failure;
    this.#open++;
    try {
      this.#send(record, (error) => {
        this.#failure ??= error;
        this.#close();
      });
    } catch (error) {
      this.#failure ??= error as Error;
      this.#close();
      throw error;
    }
  }

  /**
   * Waits until nothing of it is under way. Rejects with PublishFailed when something was not
   * acknowledged: it may be in the log or not.
   */
  async acknowledged(): Promise<void> {
    if (this.#open > 0) await new Promise<void>((resolve) => (this.#settled = resolve));
    if (this.#failure) throw this.#failure;
  }

  #close(): void {
    if (--this.#open === 0) this.#settled?.();
  }
}
