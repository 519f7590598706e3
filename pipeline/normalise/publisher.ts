import type { LogProducer, OutgoingRecord } from '../../platform/kafka/producer.ts';

type Send = (record: OutgoingRecord, done: (error: Error | undefined) => void) => void;

/** Sends records to the producer, with backpressure by the bytes in flight. */
export class Publisher {
  readonly #producer: Pick<LogProducer, 'send'>;
  readonly #maxInFlightBytes: number;
  #inFlightBytes = 0;
  #waiting: (() => void)[] = [];

  /** At `maxInFlightBytes` without an acknowledgement `waitForCapacity` waits. */
  constructor(producer: Pick<LogProducer, 'send'>, maxInFlightBytes: number) {
    this.#producer = producer;
    this.#maxInFlightBytes = maxInFlightBytes;
  }

  /** Resolves at the latest when the producer's timeout fails the records in flight. */
  async waitForCapacity(): Promise<void> {
    while (this.#inFlightBytes >= this.#maxInFlightBytes)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  begin(): PublishBatch {
    return new PublishBatch((record, done) => {
      const bytes = record.value.length;
      this.#inFlightBytes += bytes;
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
    this.#inFlightBytes -= bytes;
    if (this.#inFlightBytes < this.#maxInFlightBytes)
      for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** Records that are published together: it fails unless all of them are acknowledged. */
export class PublishBatch {
  readonly #send: Send;
  #inFlight = 0;
  #failure: Error | undefined;
  #onDone: (() => void) | undefined;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Throws PublishFailed when the producer's queue is full. */
  send(record: OutgoingRecord): void {
    if (this.#failure) throw this.#failure;
    this.#inFlight++;
    try {
      this.#send(record, (error) => {
        this.#failure ??= error;
        this.#finishOne();
      });
    } catch (error) {
      this.#failure ??= error as Error;
      this.#finishOne();
      throw error;
    }
  }

  /** Waits until nothing is in flight. PublishFailed: a record may or may not be in the log. */
  async acknowledged(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onDone = resolve));
    if (this.#failure) throw this.#failure;
  }

  #finishOne(): void {
    if (--this.#inFlight === 0) this.#onDone?.();
  }
}
