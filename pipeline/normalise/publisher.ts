import type { LogProducer, OutgoingRecord } from '../../platform/kafka/producer.ts';
import { evidenceOf, type RecordEvidence } from '../../platform/log/evidence.ts';
import type { TopicPartition } from '../../platform/log/evidence-store.ts';

type Send = (
  record: OutgoingRecord,
  done: (error: Error | undefined, offset: number, appendedAt?: number) => void,
) => void;

interface Appended {
  record: OutgoingRecord;
  offset: number;
  timestamp: number | undefined;
}

/** Sends records to the producer, with backpressure by the bytes in flight. */
export class Publisher {
  readonly #producer: Pick<LogProducer, 'send'>;
  readonly #maxInFlightBytes: number;
  readonly #appended: ((of: TopicPartition & RecordEvidence) => void) | undefined;
  #inFlightBytes = 0;
  #waiting: (() => void)[] = [];

  /**
   * At `maxInFlightBytes` without an acknowledgement `waitForCapacity` waits. `appended` gets the
   * last record of each partition that a batch wrote.
   */
  constructor(
    producer: Pick<LogProducer, 'send'>,
    maxInFlightBytes: number,
    appended?: (of: TopicPartition & RecordEvidence) => void,
  ) {
    this.#producer = producer;
    this.#maxInFlightBytes = maxInFlightBytes;
    this.#appended = appended;
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
        this.#producer.send(record, (error, offset, appendedAt) => {
          this.#release(bytes);
          done(error, offset, appendedAt);
        });
      } catch (error) {
        this.#release(bytes);
        throw error;
      }
    }, this.#appended);
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
  readonly #appended: ((of: TopicPartition & RecordEvidence) => void) | undefined;
  readonly #last = new Map<string, Appended>();

  constructor(send: Send, appended?: (of: TopicPartition & RecordEvidence) => void) {
    this.#send = send;
    this.#appended = appended;
  }

  /** Throws PublishFailed when the producer's queue is full. */
  send(record: OutgoingRecord): void {
    if (this.#failure) throw this.#failure;
    this.#inFlight++;
    try {
      this.#send(record, (error, offset, timestamp) => {
        this.#failure ??= error;
        if (!error) this.#remember({ record, offset, timestamp });
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
    for (const { record, offset, timestamp } of this.#last.values()) {
      const { topic, partition, value } = record;
      this.#appended?.({ topic, partition, ...evidenceOf({ offset, timestamp, value }) });
    }
    this.#last.clear();
  }

  #remember(appended: Appended): void {
    const { record, offset } = appended;
    const key = `${record.topic}/${record.partition}`;
    if ((this.#last.get(key)?.offset ?? -1) < offset) this.#last.set(key, appended);
  }

  #finishOne(): void {
    if (--this.#inFlight === 0) this.#onDone?.();
  }
}
