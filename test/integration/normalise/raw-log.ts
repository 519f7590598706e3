import { randomUUID } from 'node:crypto';
import kafka from 'node-rdkafka';
import type { Ready } from '../../../cli/ready.ts';
import {
  sampleEvent,
  sampleRecord,
  type SampleEvent,
} from '../../../pipeline/normalise/testing/samples.ts';
import { withKafkaAdmin, topicEnds } from '../../../platform/kafka/admin.ts';
import { rdkafkaConnection, type KafkaSettings } from '../../../platform/kafka/connection.ts';
import { connectProducer, type LogProducer } from '../../../platform/kafka/producer.ts';
import { createLog } from '../../../platform/log.ts';
import { kafkaSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { deadLetterCodec, rawRecordCodec } from '../../../schemas/codec.ts';
import type { DeadLetter, RawRecord } from '../../../schemas/records.ts';

/**
 * What a gateway would write: puts records into events.raw of the stack under test, and reads its
 * dead letters.
 */
export class RawLog {
  readonly #settings: KafkaSettings;
  readonly #producer: LogProducer;
  readonly #gateway = randomUUID();
  #sequence = 0;

  private constructor(settings: KafkaSettings, producer: LogProducer) {
    this.#settings = settings;
    this.#producer = producer;
  }

  static async open(ready: Ready): Promise<RawLog> {
    const settings = parseSettings(kafkaSettings, { KAFKA_BROKERS: ready.kafka_brokers });
    const log = createLog({ part: 'test', level: 'error' });
    const maxQueued = { records: 10_000, bytes: 64 * 1024 * 1024 };
    const producer = await connectProducer({
      settings,
      log,
      clientId: 'test',
      timeout: 30_000,
      linger: 1,
      pollInterval: 5,
      maxQueued,
    });
    return new RawLog(settings, producer);
  }

  /** A new acceptance of these events; answers its offset. */
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

  /** All dead letters of the stack, oldest first. */
  async letters(): Promise<DeadLetter[]> {
    const ends = await withKafkaAdmin(this.#settings, (admin) => topicEnds(admin, 'events.dead'));
    const values = await Promise.all(
      ends.map(({ partition, low, high }) =>
        this.#read({ topic: 'events.dead', partition, from: low, to: high }),
      ),
    );
    return values.flat().map((value) => deadLetterCodec.decode(value));
  }

  close(): Promise<void> {
    return this.#producer.close(5000);
  }

  async #read({
    topic,
    partition,
    from,
    to,
  }: {
    topic: string;
    partition: number;
    from: number;
    to: number;
  }): Promise<Buffer[]> {
    const consumer = new kafka.KafkaConsumer(
      {
        ...rdkafkaConnection(this.#settings),
        'group.id': `test-${randomUUID()}`,
        'enable.auto.commit': false,
      },
      {},
    );
    await new Promise<void>((resolve, reject) => {
      consumer.connect({ timeout: 10_000 }, (error: kafka.LibrdKafkaError | null) =>
        error ? reject(new Error(error.message)) : resolve(),
      );
    });
    const values: Buffer[] = [];
    try {
      consumer.setDefaultConsumeTimeout(200);
      consumer.assign([{ topic, partition, offset: from }]);
      for (
        const deadline = Date.now() + 20_000;
        values.length < to - from && Date.now() < deadline;
      ) {
        const messages = await new Promise<kafka.Message[]>((resolve, reject) => {
          consumer.consume(1000, (error: kafka.LibrdKafkaError | null, some) =>
            error ? reject(new Error(error.message)) : resolve(some),
          );
        });
        values.push(...messages.map(({ value }) => value ?? Buffer.alloc(0)));
      }
    } finally {
      await new Promise<void>((resolve) => consumer.disconnect(() => resolve()));
    }
    return values;
  }
}

/** Events with message ids that nobody else uses. */
export function freshEvents(count: number): SampleEvent[] {
  return Array.from({ length: count }, () => sampleEvent(randomUUID()));
}
