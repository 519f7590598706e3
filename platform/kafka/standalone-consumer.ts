import kafka from 'node-rdkafka';
import { withDeadline } from '../deadline.ts';
import { authenticate } from './authenticate.ts';
import { rdkafkaConnection, type KafkaSettings } from './connection.ts';
import type { ConsumedMessage } from './consumer-types.ts';
import { physicalTopic, topicNamesKnown, withLogicalTopics } from './topic-names.ts';

/** A consumer without group or commits; its user assigns partitions and offsets. */
export type StandaloneConsumer = kafka.KafkaConsumer;

const CLOSE_MS = 2000;

export interface StandaloneOptions {
  settings: KafkaSettings;
  clientId: string;
  /** Whose committed offsets it may read; nothing joins or commits under it. By default its own. */
  groupId?: string;
  /** Timeout of the first connection, ms. */
  connectMs: number;
  /** Maximum that the client prefetches, KiB. */
  prefetchKib: number;
  /** Maximum bytes per partition in one fetch response. */
  fetchBytes: number;
}

/** Connects; rejects when no broker answers within `connectMs`, and then stops trying. */
export async function connectStandalone({
  settings,
  clientId,
  groupId = clientId,
  connectMs,
  prefetchKib,
  fetchBytes,
}: StandaloneOptions): Promise<StandaloneConsumer> {
  await topicNamesKnown();
  const consumer = new kafka.KafkaConsumer(
    {
      ...rdkafkaConnection(settings),
      'client.id': clientId,
      'group.id': groupId,
      'enable.auto.commit': false,
      'enable.auto.offset.store': false,
      'check.crcs': true,
      'fetch.wait.max.ms': 50,
      'fetch.message.max.bytes': fetchBytes,
      'queued.max.messages.kbytes': prefetchKib,
    },
    { 'auto.offset.reset': 'earliest' },
  );
  // Failures show as missing records; without a listener the event would crash the process.
  consumer.on('event.error', () => undefined);
  await authenticate(consumer, settings);
  const connected = new Promise<void>((resolve, reject) => {
    consumer.connect({ timeout: connectMs }, (error: kafka.LibrdKafkaError | null) => {
      if (!error) resolve();
      else
        reject(
          new Error(
            `cannot reach Kafka at ${settings.KAFKA_BROKERS.join(',')} (KAFKA_BROKERS): ${error.message}`,
          ),
        );
    });
  });
  try {
    await withDeadline({ ms: connectMs + 1000, waitingFor: 'a connection to Kafka' }, connected);
    return consumer;
  } catch (error) {
    // Otherwise it would keep trying to connect.
    void closeStandalone(consumer);
    throw error;
  }
}

/** Reads these partitions of topics, from these offsets on. */
export function assignStandalone(
  consumer: StandaloneConsumer,
  positions: readonly { topic: string; partition: number; offset: number }[],
): void {
  consumer.assign(positions.map((one) => ({ ...one, topic: physicalTopic(one.topic) })));
}

/**
 * At most `maxRecords` fetched records. Waits up to `ms` for the first one only: the client would
 * apply the timeout to each record, and not return while records keep arriving.
 */
export async function pollStandalone(
  consumer: StandaloneConsumer,
  { maxRecords, ms }: { maxRecords: number; ms: number },
): Promise<ConsumedMessage[]> {
  const first = await pollOnce(consumer, 1, ms);
  return first.length === 0 || maxRecords === 1
    ? first
    : first.concat(await pollOnce(consumer, maxRecords - 1, 0));
}

function pollOnce(
  consumer: StandaloneConsumer,
  maxRecords: number,
  ms: number,
): Promise<ConsumedMessage[]> {
  return new Promise((resolve, reject) => {
    consumer.setDefaultConsumeTimeout(ms);
    consumer.consume(maxRecords, (error: kafka.LibrdKafkaError | null, messages) => {
      if (error) reject(new Error(error.message));
      else resolve(withLogicalTopics(messages as unknown as ConsumedMessage[]));
    });
  });
}

/** Never rejects: a client that does not disconnect in time is abandoned. */
export async function closeStandalone(consumer: StandaloneConsumer): Promise<void> {
  const closed = new Promise((resolve) => consumer.disconnect(resolve));
  await withDeadline({ ms: CLOSE_MS, waitingFor: 'Kafka to disconnect' }, closed).catch(
    () => undefined,
  );
}
