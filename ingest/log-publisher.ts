import { withDeadline } from '../platform/deadline.ts';
import type { KafkaSettings } from '../platform/kafka/connection.ts';
import { connectProducer, type LogProducer } from '../platform/kafka/producer.ts';
import type { Log } from '../platform/log.ts';
import type { LogRecord } from './log-record.ts';
import { TOPIC } from '../schemas/topology.ts';
import type { WriterHold } from './writer-hold.ts';

/** A record without an acknowledgement after this time has failed. */
const TIMEOUT_MS = 8000;
const NONE_REFUSED: readonly LogRecord[] = [];
const MAX_QUEUED = { records: 20_000, bytes: 128 * 1024 * 1024 };

/** Publishes records to Kafka, for processes that have no spool. */
export interface LogPublisher {
  /** Partitions of events.raw, and of ingest.outcomes. Rejects while Kafka is unreachable. */
  partitions(): Promise<number>;
  /**
   * Resolves, with no refused record, when every in-sync replica has all of them; rejects when one
   * was not acknowledged: it may be in the log or not.
   */
  publish(records: readonly LogRecord[]): Promise<readonly LogRecord[]>;
  close(): Promise<void>;
}

interface Connected {
  producer: LogProducer;
  partitions: number;
}

/**
 * Connects on first use and again after any failure: an idempotent producer that dropped a
 * record accepts no more.
 */
export function logPublisher({
  settings,
  log,
  name,
  hold,
}: {
  settings: KafkaSettings;
  log: Log;
  name: string;
  hold: WriterHold;
}): LogPublisher {
  let connected: Promise<Connected> | undefined;

  const open = async (): Promise<Connected> => {
    const producer = await connectProducer({
      settings,
      log,
      clientId: name,
      timeout: TIMEOUT_MS,
      linger: 2,
      pollInterval: 5,
      maxQueued: MAX_QUEUED,
    });
    try {
      return { producer, partitions: await producer.partitions(TOPIC.raw, TIMEOUT_MS) };
    } catch (error) {
      await producer.close(0);
      throw error;
    }
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
    partitions: async () => {
      const { partitions } = await connection();
      return (await hold.partitions()) ?? partitions;
    },
    async publish(records) {
      const { producer } = await connection();
      try {
        await hold.run(() =>
          withDeadline(
            { ms: TIMEOUT_MS + 1000, waitingFor: 'acknowledgements of Kafka' },
            Promise.all(records.map((record) => producer.publish(record))),
          ),
        );
        return NONE_REFUSED;
      } catch (error) {
        void drop().catch(() => undefined);
        throw error;
      }
    },
    close: async () => {
      await drop();
      await hold.close();
    },
  };
}
