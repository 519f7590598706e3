import type { KafkaSettings } from '../../../platform/kafka/connection.ts';
import type { ConsumedMessage } from '../../../platform/kafka/consumer-types.ts';
import type { LogProducer } from '../../../platform/kafka/producer.ts';
import { readRange } from '../../../platform/kafka/read-range.ts';
import { exactTopic } from '../../../platform/kafka/topic-names.ts';
import { appendAtOffsets, emptyRecords, WINDOW, type RecordAtOffset } from './append-at-offsets.ts';

/** What a record becomes. */
export interface Rewritten {
  key: Buffer | null;
  value: Buffer;
}

export type Transform = (record: ConsumedMessage) => Rewritten | Promise<Rewritten>;

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
    await append(copy, emptyRecords(next, Math.min(WINDOW, low - next)));
  }
  next = Math.max(copy.copied, Math.min(low, high));
  if (next >= high) return;
  const range = { topic: exactTopic(from), partition, from: next, to: high };
  const batches = readRange({ settings, clientId: 'ravand-log', range, signal });
  for await (const messages of batches) {
    const records: RecordAtOffset[] = [];
    for (const message of messages) {
      const { offset, timestamp } = message;
      records.push({ ...(await copy.transform(message)), offset, timestamp });
    }
    await append(copy, records);
  }
}

async function append(
  { producer, to, partition, beforeAppend, progressed }: Copy,
  records: readonly RecordAtOffset[],
): Promise<void> {
  await beforeAppend();
  await appendAtOffsets(producer, { topic: to, partition }, records);
  progressed(records.length);
}
