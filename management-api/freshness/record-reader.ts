import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import {
  consumeDetached,
  leaveDetached,
  openDetached,
  type DetachedConsumer,
} from '../../platform/kafka/detached-consumer.ts';
import { withDeadline } from '../../platform/deadline.ts';

export interface RecordPosition {
  topic: string;
  partition: number;
  offset: number;
}

export interface FoundRecord {
  /** When the log took it, ms since the epoch (LogAppendTime). */
  appendedAt: number;
  value: Buffer;
}

/** Reads single records by their position. */
export interface RecordReader {
  /**
   * The first record at or behind each position, in the order of the positions; no partition twice.
   * Rejects when one cannot be had within `ms`.
   */
  read(positions: readonly RecordPosition[], ms: number): Promise<FoundRecord[]>;
  close(): Promise<void>;
}

const CLIENT = { connectMs: 2000, prefetchKib: 1024, fetchBytes: 65_536 };
const BATCH = 64;
const POLL_MS = 50;

/**
 * A consumer that joins no group and commits nothing. It connects when it is first needed, and anew
 * after a failure.
 */
export function connectRecordReader({
  settings,
  name,
}: {
  settings: KafkaSettings;
  name: string;
}): RecordReader {
  let connected: Promise<DetachedConsumer> | undefined;

  const drop = async () => {
    const leaving = connected;
    connected = undefined;
    const consumer = await leaving?.catch(() => undefined);
    if (consumer) await leaveDetached(consumer);
  };

  return {
    async read(positions, ms) {
      if (positions.length === 0) return [];
      try {
        connected ??= openDetached({ settings, clientId: name, ...CLIENT });
        const consumer = await connected;
        consumer.assign(positions.map((position) => ({ ...position })));
        try {
          return await withDeadline(
            { ms, waitingFor: 'single records of the log' },
            collect(consumer, { positions, until: Date.now() + ms }),
          );
        } finally {
          consumer.unassign();
        }
      } catch (error) {
        void drop();
        throw error;
      }
    },
    close: drop,
  };
}

async function collect(
  consumer: DetachedConsumer,
  wanted: { positions: readonly RecordPosition[]; until: number },
): Promise<FoundRecord[]> {
  const found = new Map<RecordPosition, FoundRecord>();
  while (found.size < wanted.positions.length) {
    if (Date.now() > wanted.until) throw new Error('records of the log did not come in time');
    for (const message of await consumeDetached(consumer, { most: BATCH, ms: POLL_MS })) {
      const position = wanted.positions.find(
        ({ topic, partition }) => topic === message.topic && partition === message.partition,
      );
      if (!position || found.has(position) || message.offset < position.offset || !message.value)
        continue;
      found.set(position, { appendedAt: message.timestamp ?? 0, value: message.value });
    }
  }
  return wanted.positions.flatMap((position) => found.get(position) ?? []);
}
