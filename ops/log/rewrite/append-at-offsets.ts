import { CommandError } from '../../../cli/command.ts';
import type { LogProducer } from '../../../platform/kafka/producer.ts';
import { exactTopic } from '../../../platform/kafka/topic-names.ts';

/** The copy has other offsets than the topic: a killed command's record came late. */
export class CopyDiffers extends Error {
  override readonly name = 'CopyDiffers';
}

export interface RecordAtOffset {
  key: Buffer | null;
  value: Buffer;
  timestamp: number;
  offset: number;
}

/** Records that are appended before their acknowledgements are awaited. */
export const WINDOW = 2000;
const EMPTY = Buffer.alloc(0);

/** What fills the offsets of records that are gone. */
export function emptyRecords(from: number, count: number): RecordAtOffset[] {
  return Array.from({ length: count }, (_, at) => ({
    ...{ key: null, value: EMPTY, timestamp: 0, offset: from + at },
  }));
}

/**
 * Appends the records to a physical topic, each at its own offset. Rejects with CopyDiffers when an
 * offset is another one.
 */
export async function appendAtOffsets(
  producer: Pick<LogProducer, 'publish'>,
  { topic, partition }: { topic: string; partition: number },
  records: readonly RecordAtOffset[],
): Promise<void> {
  const sent = records.map(async ({ key, value, timestamp, offset }) => {
    const record = { topic: exactTopic(topic), partition, key, value, timestamp };
    const found = await producer.publish(record);
    if (found !== offset)
      throw new CopyDiffers(
        `record ${offset} of partition ${partition} is at ${found} in ${topic}: the copy begins again`,
      );
  });
  const outcomes = await Promise.allSettled(sent);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (!failed) return;
  const reason: unknown = failed.reason;
  throw reason instanceof Error ? reason : new CommandError(String(reason));
}
