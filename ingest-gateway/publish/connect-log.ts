import { connectProducer, type LogProducer } from '../../platform/kafka/producer.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import type { Log } from '../../platform/log.ts';

interface ConnectOptions {
  settings: KafkaSettings;
  log: Log;
  topics: readonly string[];
  /** PUBLISH_TIMEOUT, ms. */
  timeout: number;
  /** PUBLISH_LINGER, ms. */
  linger: number;
  maxInFlightBytes: number;
}

/** Delivery reports are collected this often, ms. */
const POLL_INTERVAL = 1;
/**
 * The publisher gives up on a record after PUBLISH_TIMEOUT; the client only must not do so earlier
 * while the spool is drained, where nobody waits.
 */
const DELIVERY_TIMEOUT = 60_000;

/**
 * A producer for the gateway and the partitions of its topics. Rejects when Kafka cannot be reached
 * or a topic is missing.
 */
export async function connectLog(
  options: ConnectOptions,
): Promise<{ producer: LogProducer; partitions: ReadonlyMap<string, number> }> {
  const { settings, log, topics, timeout, linger, maxInFlightBytes } = options;
  const producer = await connectProducer({
    settings,
    log,
    clientId: 'ravand-ingest-gateway',
    timeout: Math.max(DELIVERY_TIMEOUT, timeout),
    connectTimeout: timeout,
    linger,
    // The raw log is kept longest, and JSON packs well.
    compression: 'lz4',
    pollInterval: POLL_INTERVAL,
    // The publisher keeps the bound; the client only must not be the first to refuse.
    maxQueued: { records: 1_000_000, bytes: 4 * maxInFlightBytes + 64 * 1024 * 1024 },
  });
  try {
    const partitions = new Map<string, number>();
    for (const topic of topics) partitions.set(topic, await producer.partitions(topic, timeout));
    return { producer, partitions };
  } catch (error) {
    await producer.close(0);
    throw error;
  }
}
