import { BATCH_BYTES, connectProducer, type LogProducer } from '../../platform/kafka/producer.ts';
import { maxMessageBytes } from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import type { Log } from '../../platform/log.ts';
import type { TopicFacts } from './known-topics.ts';

interface ConnectOptions {
  settings: KafkaSettings;
  log: Log;
  topics: readonly string[];
  /** PUBLISH_TIMEOUT, ms. */
  timeout: number;
  /** PUBLISH_LINGER, ms. */
  linger: number;
  maxInFlightBytes: number;
  /** The smallest known record limit of a topic, bytes. */
  smallestLimit: () => number;
}

export interface LogConnection extends TopicFacts {
  producer: LogProducer;
}

/**
 * `isIsolating`: every record is a batch of its own, and a refused one does not end the producer.
 * Rejects without Kafka or one of the topics.
 */
export type ConnectLog = (how: { isIsolating: boolean }) => Promise<LogConnection>;

/** Delivery reports are collected this often, ms. */
const POLL_INTERVAL = 1;
/**
 * The publisher has its own timeout, by partition. The client's would renew the producer's epoch
 * and stop every partition meanwhile.
 */
const DELIVERY_TIMEOUT = 3_600_000;

/** Connects producers, and reads the partitions and limits of their topics. */
export function logConnector(options: ConnectOptions): ConnectLog {
  const { settings, log, topics, timeout, linger, maxInFlightBytes } = options;
  const limitsOrUndefined = (): Promise<TopicFacts['limits']> =>
    readLimits(options).catch((error: unknown) => {
      log.warn(
        { err: error, code: 'record_limit_unknown' },
        'Kafka does not say max.message.bytes of the topics: give the gateway the right to describe their configuration',
      );
      return undefined;
    });
  const connect = (isIsolating: boolean, batchBytes: number) =>
    connectProducer({
      settings,
      log,
      clientId: 'ravand-ingest-gateway',
      timeout: Math.max(DELIVERY_TIMEOUT, timeout),
      connectTimeout: timeout,
      linger,
      // events.raw has the longest retention, and JSON compresses well.
      compression: 'lz4',
      pollInterval: POLL_INTERVAL,
      batchBytes: isIsolating ? 1 : batchBytes,
      isGapless: !isIsolating,
      holdsBack: true,
      // The publisher bounds what is in flight; the client must not refuse before it does.
      maxQueued: { records: 1_000_000, bytes: 4 * maxInFlightBytes + 64 * 1024 * 1024 },
    });
  return async ({ isIsolating }) => {
    const known = batchBytesFor(options.smallestLimit());
    // Only when Kafka answers is its silence about the limits worth a message.
    let producer = await connect(isIsolating, known);
    try {
      const limits = await limitsOrUndefined();
      const batchBytes = batchBytesFor(Math.min(...(limits?.values() ?? [Infinity])));
      if (batchBytes < known) {
        await producer.close(0);
        producer = await connect(isIsolating, batchBytes);
      }
      const partitions = new Map<string, number>();
      for (const topic of topics) partitions.set(topic, await producer.partitions(topic, timeout));
      return { producer, partitions, limits };
    } catch (error) {
      await producer.close(0);
      throw error;
    }
  };
}

/** Largest record batch by topic. Rejects without Kafka. */
export function readLimits(
  options: Pick<ConnectOptions, 'settings' | 'topics' | 'timeout'>,
): Promise<ReadonlyMap<string, number>> {
  const { settings, topics, timeout } = options;
  return maxMessageBytes(settings, { topics, ms: timeout });
}

/** A batch of several records that Kafka refuses would take the small ones with it. */
function batchBytesFor(limit: number): number {
  return Math.max(1, Math.min(BATCH_BYTES, limit - 1024));
}
