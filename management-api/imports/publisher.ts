import { withDeadline } from '../../platform/deadline.ts';
import { topicEnds, withKafkaAdmin } from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import {
  connectProducer,
  type LogProducer,
  type OutgoingRecord,
} from '../../platform/kafka/producer.ts';
import type { Log } from '../../platform/log.ts';
import { TOPIC } from '../../schemas/topology.ts';

const RAW = TOPIC.raw;
/** After this long without an acknowledgement a request answers 503. */
const TIMEOUT_MS = 8000;
const MAX_QUEUED = { records: 20_000, bytes: 128 * 1024 * 1024 };

/** The way into the log. */
export interface ImportPublisher {
  /** Partitions of events.raw. Rejects while the log is away. */
  partitions(): Promise<number>;
  /**
   * Resolves when every in-sync replica has all the records; rejects when one was not acknowledged:
   * it may be in the log or not.
   */
  publish(records: readonly OutgoingRecord[]): Promise<void>;
  close(): Promise<void>;
}

interface Connected {
  producer: LogProducer;
  partitions: number;
}

/**
 * Connects when it is first needed, and anew after any failure: an idempotent producer that gave a
 * record up takes no more.
 */
export function importPublisher({
  settings,
  log,
  name,
}: {
  settings: KafkaSettings;
  log: Log;
  name: string;
}): ImportPublisher {
  let connected: Promise<Connected> | undefined;

  const open = async (): Promise<Connected> => {
    const partitions = await withKafkaAdmin(
      { ...settings },
      async (admin) => (await topicEnds(admin, RAW)).length,
    );
    const producer = await connectProducer({
      settings,
      log,
      clientId: name,
      timeout: TIMEOUT_MS,
      linger: 2,
      pollInterval: 5,
      maxQueued: MAX_QUEUED,
    });
    return { producer, partitions };
  };

  const connection = () => {
    if (!connected) {
      const opening = open();
      connected = opening;
      opening.catch(() => {
        if (connected === opening) connected = undefined;
      });
    }
    return withDeadline({ ms: TIMEOUT_MS, waitingFor: 'a connection to Kafka' }, connected);
  };

  const drop = async () => {
    const leaving = connected;
    connected = undefined;
    const { producer } = (await leaving?.catch(() => undefined)) ?? {};
    await producer?.close(2000);
  };

  return {
    partitions: async () => (await connection()).partitions,
    async publish(records) {
      const { producer } = await connection();
      try {
        await withDeadline(
          { ms: TIMEOUT_MS + 1000, waitingFor: 'acknowledgements of Kafka' },
          Promise.all(records.map((record) => producer.publish(record))),
        );
      } catch (error) {
        void drop().catch(() => undefined);
        throw error;
      }
    },
    close: drop,
  };
}
