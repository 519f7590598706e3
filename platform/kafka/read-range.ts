import kafka from 'node-rdkafka';
import { withDeadline } from '../deadline.ts';
import { rdkafkaConnection, type KafkaSettings } from './connection.ts';
import type { ConsumedMessage } from './consumer.ts';

/** Offsets `from` (included) to `to` (not included) of one partition. */
export interface LogRange {
  topic: string;
  partition: number;
  from: number;
  to: number;
}

/** The log has dropped the beginning of the range, before or while it was read. */
export class RangeGone extends Error {
  readonly firstKept: number;
  constructor({ topic, partition, from }: LogRange, firstKept: number) {
    super(`${topic} ${partition} does not hold offset ${from} any more: it begins at ${firstKept}`);
    this.name = 'RangeGone';
    this.firstKept = firstKept;
  }
}

const CONNECT_MS = 10_000;
/** Records come within this time of asking for them, or the broker is taken to be away, ms. */
const SILENCE_MS = 30_000;
const POLL_MS = 200;
const LEAVE_MS = 2000;
const MOST_RECORDS = 1000;

/**
 * Reads a range of the log in order, piece by piece, without joining a group and without committing: no group's lag changes. Memory is bounded by what the
 * client prefetches (32 MiB). Rejects with RangeGone, when no broker answers for 30 s, or, within a moment, when the signal aborts.
 */
export async function* readRange(options: {
  settings: KafkaSettings;
  clientId: string;
  range: LogRange;
  signal: AbortSignal;
}): AsyncGenerator<ConsumedMessage[], void, void> {
  const { range, signal } = options;
  const { topic, partition, to } = range;
  let next = range.from;
  if (next >= to) return;
  signal.throwIfAborted();
  const consumer = await open(options.settings, options.clientId);
  try {
    consumer.assign([{ topic, partition, offset: next }]);
    let heardAt = performance.now();
    while (next < to) {
      signal.throwIfAborted();
      const messages = await withDeadline({ ms: SILENCE_MS, waitingFor: `records of ${topic} ${partition}` }, consume(consumer, MOST_RECORDS));
      if (messages.length > 0) heardAt = performance.now();
      else if (performance.now() - heardAt > SILENCE_MS)
        throw new Error(`no record of ${topic} ${partition} came for ${SILENCE_MS / 1000} s: see ./ravand status for the broker`);
      const [first] = messages;
      if (first && first.offset !== next) throw new RangeGone({ ...range, from: next }, first.offset);
      const wanted = messages.filter(({ offset }) => offset < to);
      next = (wanted.at(-1)?.offset ?? next - 1) + 1;
      if (wanted.length > 0) yield wanted;
      if (wanted.length < messages.length) return;
    }
  } finally {
    await leave(consumer);
  }
}

async function open(settings: KafkaSettings, clientId: string): Promise<kafka.KafkaConsumer> {
  const consumer = new kafka.KafkaConsumer(
    {
      ...rdkafkaConnection(settings),
      'client.id': clientId,
      // The client wants one; nothing joins or commits under it.
      'group.id': clientId,
      'enable.auto.commit': false,
      'enable.auto.offset.store': false,
      'check.crcs': true,
      'fetch.wait.max.ms': 50,
      'fetch.message.max.bytes': 4 * 1024 * 1024,
      'queued.max.messages.kbytes': 32 * 1024,
    },
    { 'auto.offset.reset': 'earliest' },
  );
  // Failures show as records that do not come; without a listener the client would throw them at the process.
  consumer.on('event.error', () => undefined);
  const connected = new Promise<void>((resolve, reject) => {
    consumer.connect({ timeout: CONNECT_MS }, (error: kafka.LibrdKafkaError | null) => {
      if (!error) resolve();
      else reject(new Error(`no Kafka at ${settings.KAFKA_BROKERS.join(',')} (KAFKA_BROKERS): ${error.message}`));
    });
  });
  try {
    await withDeadline({ ms: CONNECT_MS + 1000, waitingFor: 'a connection to Kafka' }, connected);
    return consumer;
  } catch (error) {
    // It would go on trying to connect.
    void leave(consumer);
    throw error;
  }
}

function consume(consumer: kafka.KafkaConsumer, most: number): Promise<ConsumedMessage[]> {
  return new Promise((resolve, reject) => {
    consumer.setDefaultConsumeTimeout(POLL_MS);
    consumer.consume(most, (error: kafka.LibrdKafkaError | null, messages) => {
      if (error) reject(new Error(error.message));
      else resolve(messages as unknown as ConsumedMessage[]);
    });
  });
}

/** A consumer that cannot say goodbye is left to itself. */
async function leave(consumer: kafka.KafkaConsumer): Promise<void> {
  const gone = new Promise((resolve) => consumer.disconnect(resolve));
  await withDeadline({ ms: LEAVE_MS, waitingFor: 'the end of a connection to Kafka' }, gone).catch(() => undefined);
}
