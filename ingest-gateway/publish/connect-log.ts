import { connectProducer, type LogProducer } from '../../platform/kafka/producer.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { connectWireProducer } from '../../platform/kafka/wire/wire-producer.ts';
import type { Log } from '../../platform/log.ts';

const CLIENT_ID = 'ravand-ingest-gateway';

interface ConnectOptions {
  settings: KafkaSettings;
  log: Log;
  topics: readonly string[];
  /** PUBLISH_TIMEOUT, ms. */
  timeout: number;
  maxInFlightBytes: number;
}

/** For the general client: records gather this long before they are sent, and delivery reports are collected this often, ms. */
const LINGER = 1;
const POLL_INTERVAL = 1;

/** A producer for the gateway and the partitions of its topics. Rejects when Kafka cannot be reached or a topic is missing. */
export async function connectLog(options: ConnectOptions): Promise<{ producer: LogProducer; partitions: ReadonlyMap<string, number> }> {
  // The producer made for this publisher costs a fraction of the general client, but does not log in (SASL).
  const producer = options.settings.KAFKA_SASL_MECHANISM === '' ? await connectLean(options) : await connectGeneral(options);
  try {
    const partitions = new Map<string, number>();
    for (const topic of options.topics) partitions.set(topic, await producer.partitions(topic, options.timeout));
    return { producer, partitions };
  } catch (error) {
    await producer.close(0);
    throw error;
  }
}

/** The publisher keeps the bound; the client only must not be the first to refuse. */
function clientBytes(options: ConnectOptions): number {
  return 4 * options.maxInFlightBytes + 64 * 1024 * 1024;
}

function connectLean(options: ConnectOptions): Promise<LogProducer> {
  const { settings, topics, timeout } = options;
  return connectWireProducer({ settings, clientId: CLIENT_ID, topics, timeout, maxQueuedBytes: clientBytes(options) });
}

function connectGeneral(options: ConnectOptions): Promise<LogProducer> {
  const { settings, log, timeout } = options;
  const maxQueued = { records: 1_000_000, bytes: clientBytes(options) };
  return connectProducer({ settings, log, clientId: CLIENT_ID, timeout, linger: LINGER, pollInterval: POLL_INTERVAL, maxQueued });
}
