import type { WriterHold } from '../../../ingest/writer-hold.ts';
import type { KafkaSettings } from '../../../platform/kafka/connection.ts';
import { connectProducer, type LogProducer } from '../../../platform/kafka/producer.ts';
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
  hold: WriterHold;
  /** Recipients that are durable. */
  written: (recipients: number) => void;
}): Promise<ChunkPublisher> {
  const { settings, topic, clientId, log, signal, hold, written } = options;
  const retried = { log, signal, code: 'kafka_unreachable', what: 'connecting to Kafka' };
  return retryUntilAborted(retried, async () => {
    const producer = await connectProducer({
      ...{ settings, log, clientId, timeout: PUBLISH_MS },
      ...{ linger: 5, pollInterval: 2, compression: 'lz4' },
      // Chunks may be appended in any order.
      isGapless: false,
      maxQueued: { records: 10_000, bytes: 256 * 2 ** 20 },
    });
    const close = async (ms: number) => {
      await producer.close(ms);
      await hold.close();
    };
    let partitions: number;
    try {
      partitions = await producer.partitions(topic, METADATA_MS);
    } catch (error) {
      await producer.close(0);
      throw error;
    }
    return { publish: chunkPublisher({ producer, hold, topic, partitions, written }), close };
  });
}

/**
 * Publishes chunks one by one. While the layout of the log changes they wait, as the records of
 * every other producer do: what is appended to a topic that was replaced is lost with it.
 */
export function chunkPublisher(options: {
  producer: Pick<LogProducer, 'publish'>;
  hold: Pick<WriterHold, 'partitions' | 'run'>;
  topic: string;
  partitions: number;
  written: (recipients: number) => void;
}): SlicePorts['publish'] {
  const { producer, hold, topic, partitions, written } = options;
  return async (chunk) => {
    const partition = (chunk.run_id + chunk.chunk) % partitions;
    const value = messageChunkCodec.encode(chunk);
    await hold.partitions();
    await hold.run(() => producer.publish({ topic, partition, key: null, value }));
    written(chunk.recipients.length);
  };
}
