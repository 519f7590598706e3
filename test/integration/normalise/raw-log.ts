import { randomUUID } from 'node:crypto';
import {
  sampleEvent,
  sampleRecord,
  type SampleEvent,
} from '../../../events/testing/raw-records.ts';
import type { LogProducer } from '../../../platform/kafka/producer.ts';
import { deadLetterCodec, rawRecordCodec } from '../../../schemas/codec.ts';
import type { DeadLetter, RawRecord } from '../../../schemas/records.ts';
import { connectTestProducer } from '../../support/producer.ts';
import { readWholeTopic, stackKafka } from '../../support/read-topic.ts';

/** Writes records to events.raw as a gateway does, and reads the dead letters of the stack. */
export class RawLog {
  readonly #producer: LogProducer;
  readonly #gateway = randomUUID();
  #sequence = 0;

  private constructor(producer: LogProducer) {
    this.#producer = producer;
  }

  static async open(): Promise<RawLog> {
    return new RawLog(await connectTestProducer(stackKafka()));
  }

  /** Appends a new acceptance of these events; answers its offset. */
  accept(
    partition: number,
    events: readonly SampleEvent[],
    facts: Partial<RawRecord> & { account_id: number },
  ): Promise<number> {
    const sequence = this.#sequence;
    this.#sequence += events.length;
    return this.put(
      partition,
      rawRecordCodec.encode(
        sampleRecord(events, {
          gateway: this.#gateway,
          sequence,
          received_at: Date.now(),
          ...facts,
        }),
      ),
    );
  }

  put(partition: number, value: Buffer): Promise<number> {
    return this.#producer.publish({ topic: 'events.raw', partition, key: null, value });
  }

  /** All dead letters of the stack, by offset. */
  async deadLetters(): Promise<DeadLetter[]> {
    return (await readWholeTopic('events.dead')).map(({ value }) => deadLetterCodec.decode(value));
  }

  close(): Promise<void> {
    return this.#producer.close(5000);
  }
}

/** Events with message ids that nobody else uses. */
export function freshEvents(count: number): SampleEvent[] {
  return Array.from({ length: count }, () => sampleEvent(randomUUID()));
}
