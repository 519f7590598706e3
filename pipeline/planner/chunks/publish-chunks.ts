import type { KafkaSettings } from '../../../platform/kafka/connection.ts';
import { connectProducer } from '../../../platform/kafka/producer.ts';
import type { Log } from '../../../platform/log.ts';
import { retryUntilAborted } from '../../../platform/retry-until-aborted.ts';
import { messageChunkCodec } from '../../../schemas/codec.ts';
import type { SlicePorts } from './write-slice.ts';

/** A chunk that Kafka does not acknowledge for so long has failed, ms. */
const PUBLISH_MS = 30_000;
const METADATA_MS = 5000;

export interface ChunkPublisher {
  publish: SlicePorts['publish'];
  /** Waits at most `ms` for chunks in flight. */
  close: (ms: number) => Promise<void>;
}

/**
 * Connects to the topic of chunks, and retries until the signal aborts. A chunk that is written
 * again goes to the same partition, unless the topic has grown.
 */
export function connectChunks(options: {
  settings: KafkaSettings;
  topic: string;
  clientId: string;
  log: Log;
  signal: AbortSignal;
  /** Recipients that are durable. */
  written: (recipients: number) => void;
}): Promise<ChunkPublisher> {
  const { settings, topic, clientId, log, signal, written } = options;
  const retried = { log, signal, code: 'kafka_unreachable', what: 'connecting to Kafka' };
  return retryUntilAborted(retried, async () => {
    const producer = await connectProducer({
      ...{ settings, log, clientId, timeout: PUBLISH_MS },
      ...{ linger: 5, pollInterval: 2, compression: 'lz4' },
      // Chunks may be appended in any order.
      isGapless: false,
      maxQueued: { records: 10_000, bytes: 256 * 2 ** 20 },
    });
    const close = (ms: number) => producer.close(ms);
    let partitions: number;
    try {
      partitions = await producer.partitions(topic, METADATA_MS);
    } catch (error) {
      await close(0);
      throw error;
    }
    const publish: SlicePorts['publish'] = async (chunk) => {
      const partition = (chunk.run_id + chunk.chunk) % partitions;
      const value = messageChunkCodec.encode(chunk);
      await producer.publish({ topic, partition, key: null, value });
      written(chunk.recipients.length);
    };
    return { publish, close };
  });
}
