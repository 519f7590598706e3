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
/** At least this long in the client: draining the spool may take longer than PUBLISH_TIMEOUT. */
const DELIVERY_TIMEOUT = 60_000;

/** A producer, and the partitions of its topics. Rejects without Kafka or one of the topics. */
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
    // events.raw has the longest retention, and JSON compresses well.
    compression: 'lz4',
    pollInterval: POLL_INTERVAL,
    // The publisher bounds what is in flight; the client must not refuse before it does.
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
