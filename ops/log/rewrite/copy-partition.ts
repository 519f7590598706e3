import { CommandError } from '../../../cli/command.ts';
import type { KafkaSettings } from '../../../platform/kafka/connection.ts';
import type { ConsumedMessage } from '../../../platform/kafka/consumer-types.ts';
import type { LogProducer } from '../../../platform/kafka/producer.ts';
import { readRange } from '../../../platform/kafka/read-range.ts';
import { exactTopic } from '../../../platform/kafka/topic-names.ts';

/** What a record becomes. */
export interface Rewritten {
  key: Buffer | null;
  value: Buffer;
}

export type Transform = (record: ConsumedMessage) => Rewritten | Promise<Rewritten>;

/** The copy has other offsets than the topic: a killed command's record came late. */
export class CopyDiffers extends Error {
  override readonly name = 'CopyDiffers';
}

interface Copy {
  settings: KafkaSettings;
  producer: LogProducer;
  /** Physical names. */
  from: string;
  to: string;
  partition: number;
  /** First kept offset, and the end, of the topic; the end of the copy. */
  low: number;
  high: number;
  copied: number;
  transform: Transform;
  signal: AbortSignal;
  /** Rejects when nothing may be appended any more. */
  beforeAppend: () => Promise<void>;
  progressed: (records: number) => void;
}

const WINDOW = 2000;
const EMPTY = Buffer.alloc(0);

/**
 * Appends the records [copied, high) of a partition to the copy, each at its own offset. A head
 * that retention removed is filled with empty records; the caller deletes them. One call per
 * partition at a time. Rejects with CopyDiffers when an offset is another one.
 */
export async function copyPartition(copy: Copy): Promise<void> {
  const { settings, from, partition, low, high, signal } = copy;
  let next = copy.copied;
  for (; next < Math.min(low, high); next += WINDOW) {
    signal.throwIfAborted();
    const records = Array.from({ length: Math.min(WINDOW, low - next) }, (_, at) => ({
      ...{ key: null, value: EMPTY, timestamp: 0, offset: next + at },
    }));
    await append(copy, records);
  }
  next = Math.max(copy.copied, Math.min(low, high));
  if (next >= high) return;
  const range = { topic: exactTopic(from), partition, from: next, to: high };
  const batches = readRange({ settings, clientId: 'ravand-log', range, signal });
  for await (const messages of batches) {
    const records: (Rewritten & { timestamp: number; offset: number })[] = [];
    for (const message of messages) {
      const { offset, timestamp } = message;
      records.push({ ...(await copy.transform(message)), offset, timestamp });
    }
    await append(copy, records);
  }
}

async function append(
  { producer, to, partition, beforeAppend, progressed }: Copy,
  records: readonly (Rewritten & { timestamp: number; offset: number })[],
): Promise<void> {
  const topic = exactTopic(to);
  await beforeAppend();
  const sent = records.map(async ({ key, value, timestamp, offset }) => {
    const found = await producer.publish({ topic, partition, key, value, timestamp });
    if (found !== offset)
      throw new CopyDiffers(
        `record ${offset} of partition ${partition} is at ${found} in ${to}: the copy begins again`,
      );
  });
  const outcomes = await Promise.allSettled(sent);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) {
    const reason: unknown = failed.reason;
    throw reason instanceof Error ? reason : new CommandError(String(reason));
  }
  progressed(records.length);
}
