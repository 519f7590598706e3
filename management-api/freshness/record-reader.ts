import kafka from 'node-rdkafka';
import { rdkafkaConnection, type KafkaSettings } from '../../platform/kafka/connection.ts';
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
  /** The first record at or behind each position, in the order of the positions; no partition twice. Rejects when one cannot be had within `ms`. */
  read(positions: readonly RecordPosition[], ms: number): Promise<FoundRecord[]>;
  close(): Promise<void>;
}

const CONNECT_MS = 2000;
const BATCH = 64;

/** A consumer that joins no group and commits nothing. It connects when it is first needed, and anew after a failure. */
export function connectRecordReader({ settings, name }: { settings: KafkaSettings; name: string }): RecordReader {
  let connected: Promise<kafka.KafkaConsumer> | undefined;

  const open = () =>
    new Promise<kafka.KafkaConsumer>((resolve, reject) => {
      const consumer = new kafka.KafkaConsumer(
        {
          ...rdkafkaConnection(settings),
          'client.id': name,
          'group.id': name,
          'enable.auto.commit': false,
          'fetch.wait.max.ms': 50,
          'fetch.message.max.bytes': 65_536,
          'queued.max.messages.kbytes': 1024,
        },
        { 'auto.offset.reset': 'earliest' },
      );
      // Failures show as records that do not come; without a listener the client would throw them at the process.
      consumer.on('event.error', () => undefined);
      consumer.connect({ timeout: CONNECT_MS }, (error: kafka.LibrdKafkaError | null) => {
        if (!error) {
          resolve(consumer);
          return;
        }
        consumer.disconnect();
        reject(new Error(error.message));
      });
    });

  const drop = async () => {
    const leaving = connected;
    connected = undefined;
    const consumer = await leaving?.catch(() => undefined);
    if (consumer)
      await Promise.race([new Promise((resolve) => consumer.disconnect(resolve)), new Promise((resolve) => setTimeout(resolve, 2000).unref())]);
  };

  return {
    async read(positions, ms) {
      if (positions.length === 0) return [];
      try {
        connected ??= open();
        const consumer = await connected;
        consumer.assign(positions.map((position) => ({ ...position })));
        try {
          return await withDeadline({ ms, waitingFor: 'single records of the log' }, collect(consumer, { positions, until: Date.now() + ms }));
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

async function collect(consumer: kafka.KafkaConsumer, wanted: { positions: readonly RecordPosition[]; until: number }): Promise<FoundRecord[]> {
  const found = new Map<RecordPosition, FoundRecord>();
  while (found.size < wanted.positions.length) {
    if (Date.now() > wanted.until) throw new Error('records of the log did not come in time');
    for (const message of await consume(consumer)) {
      const position = wanted.positions.find(({ topic, partition }) => topic === message.topic && partition === message.partition);
      if (!position || found.has(position) || message.offset < position.offset || !message.value) continue;
      found.set(position, { appendedAt: message.timestamp ?? 0, value: message.value });
    }
  }
  return wanted.positions.flatMap((position) => found.get(position) ?? []);
}

function consume(consumer: kafka.KafkaConsumer): Promise<kafka.Message[]> {
  return new Promise((resolve, reject) => {
    consumer.setDefaultConsumeTimeout(50);
    consumer.consume(BATCH, (error: kafka.LibrdKafkaError | null, messages: kafka.Message[]) => {
      if (error) reject(new Error(error.message));
      else resolve(messages);
    });
  });
}
