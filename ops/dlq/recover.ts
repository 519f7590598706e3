import { TOPIC } from '../../schemas/topology.ts';
import type { Admin } from 'kafkajs';
import { isRedriveOf } from '../../pipeline/dead-letters/redriven-record.ts';
import { rawRecordCodec, UnreadableRecord } from '../../schemas/codec.ts';
import type { RawRecord } from '../../schemas/records.ts';
import type { RangeReader } from '../../platform/kafka/read-range.ts';

/**
 * A producer gives a record up long before; the clocks of PostgreSQL and of Kafka may differ by the
 * rest, ms.
 */
const MAX_DELAY_MS = 120_000;
const LIMITS = { records: 5_000_000, ms: 300_000 };

export interface PublishAttempt {
  record: RawRecord;
  partition: number;
  /** End of the partition before the attempt published. */
  rawEnd: number;
  /** When the attempt began, ms since the epoch. */
  at: number;
}

/**
 * Looks whether a redrive that was killed had reached the log: its offset, or undefined when it had
 * not. Reads what the partition took from the beginning of the attempt until two minutes later.
 * Rejects when that cannot be read to its end: nothing is known then.
 */
export async function findPublished(
  options: { admin: Admin; reader: RangeReader },
  prior: PublishAttempt,
): Promise<number | undefined> {
  const { partition, rawEnd } = prior;
  const offsets = await options.admin.fetchTopicOffsetsByTimestamp(
    TOPIC.raw,
    prior.at + MAX_DELAY_MS,
  );
  const ends = await options.admin.fetchTopicOffsets(TOPIC.raw);
  const high = Number(ends.find((one) => one.partition === partition)?.high ?? 0);
  const behind = Number(offsets.find((one) => one.partition === partition)?.offset ?? -1);
  let at: number | undefined;
  const to = behind < 0 ? high : Math.min(high, behind);
  const read = await options.reader.search(
    { topic: TOPIC.raw, partition, from: rawEnd, to, limits: LIMITS },
    ({ offset, value }) => {
      if (value === null || !isPublished(value, prior.record)) return undefined;
      at = offset;
      return 'found';
    },
  );
  if (read.ended === 'limit')
    throw new Error(
      `events.raw ${partition} took too much since the redrive began to look through it: try again, offset ${rawEnd} on`,
    );
  return at;
}

function isPublished(value: Buffer, record: RawRecord): boolean {
  try {
    return isRedriveOf(rawRecordCodec.decode(value), record);
  } catch (error) {
    if (error instanceof UnreadableRecord) return false;
    throw error;
  }
}
