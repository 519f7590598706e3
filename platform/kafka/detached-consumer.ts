import kafka from 'node-rdkafka';
import { withDeadline } from '../deadline.ts';
import { rdkafkaConnection, type KafkaSettings } from './connection.ts';

/**
 * A consumer that joins no group and commits nothing: no group's lag changes. Its user assigns
 * partitions with offsets.
 */
export type DetachedConsumer = kafka.KafkaConsumer;

const LEAVE_MS = 2000;

export interface DetachedOptions {
  settings: KafkaSettings;
  clientId: string;
  /** Patience with the first connection, ms. */
  connectMs: number;
  /** Most that the client holds ahead of what was taken, KiB. */
  prefetchKib: number;
  /** Most bytes of one partition in one answer of a broker. */
  fetchBytes: number;
}

/** Connects; rejects when no broker answers within `connectMs`, and then tries no further. */
export async function openDetached({
  settings,
  clientId,
  connectMs,
  prefetchKib,
  fetchBytes,
}: DetachedOptions): Promise<DetachedConsumer> {
  const consumer = new kafka.KafkaConsumer(
    {
      ...rdkafkaConnection(settings),
      'client.id': clientId,
      // The client wants one; nothing joins or commits under it.
      'group.id': clientId,
      'enable.auto.commit': false,
      'enable.auto.offset.store': false,
      'check.crcs': true,
      'fetch.wait.max.ms': 50,
      'fetch.message.max.bytes': fetchBytes,
      'queued.max.messages.kbytes': prefetchKib,
    },
    { 'auto.offset.reset': 'earliest' },
  );
  // Failures show as records that do not come; without a listener the client would throw them at
  // the process.
  consumer.on('event.error', () => undefined);
  const connected = new Promise<void>((resolve, reject) => {
    consumer.connect({ timeout: connectMs }, (error: kafka.LibrdKafkaError | null) => {
      if (!error) resolve();
      else
        reject(
          new Error(
            `no Kafka at ${settings.KAFKA_BROKERS.join(',')} (KAFKA_BROKERS): ${error.message}`,
          ),
        );
    });
  });
  try {
    await withDeadline({ ms: connectMs + 1000, waitingFor: 'a connection to Kafka' }, connected);
    return consumer;
  } catch (error) {
    // It would go on trying to connect.
    void leaveDetached(consumer);
    throw error;
  }
}

/**
 * At most `most` records that are at hand; waits `ms` for the first only: the client would wait
 * that long for each, and never come back while records keep trickling in.
 */
export async function consumeDetached(
  consumer: DetachedConsumer,
  { most, ms }: { most: number; ms: number },
): Promise<kafka.Message[]> {
  const first = await consumeOnce(consumer, 1, ms);
  return first.length === 0 || most === 1
    ? first
    : first.concat(await consumeOnce(consumer, most - 1, 0));
}

function consumeOnce(
  consumer: DetachedConsumer,
  most: number,
  ms: number,
): Promise<kafka.Message[]> {
  return new Promise((resolve, reject) => {
    consumer.setDefaultConsumeTimeout(ms);
    consumer.consume(most, (error: kafka.LibrdKafkaError | null, messages: kafka.Message[]) => {
      if (error) reject(new Error(error.message));
      else resolve(messages);
    });
  });
}

/** Never rejects: a consumer that cannot say goodbye is left to itself. */
export async function leaveDetached(consumer: DetachedConsumer): Promise<void> {
  const gone = new Promise((resolve) => consumer.disconnect(resolve));
  await withDeadline({ ms: LEAVE_MS, waitingFor: 'the end of a connection to Kafka' }, gone).catch(
    () => undefined,
  );
}
