import { hash } from 'node:crypto';
import type { Failure, SourceRecord } from '../../events/raw/failure.ts';
import { encodeDeadLetter } from '../../schemas/dead-letter-versions.ts';
import { encodeRawBatch } from '../../schemas/raw-batch.ts';
import type { DeadLetter } from '../../schemas/records.ts';

/** A dead letter must fit into 16 MiB: a larger value is cut; the raw log has it whole. */
export const MAX_DEAD_LETTER_VALUE_BYTES = 15 * 1024 * 1024;
const MAX_KEY_BYTES = 16 * 1024;
const MAX_DETAIL_UNITS = 1000;

/** The dead letter of a failure: reason, position and bytes. `failedAt` in ms since the epoch. */
export function deadLetterOf(input: {
  stage: string;
  failure: Failure;
  record: SourceRecord;
  failedAt: number;
}): DeadLetter {
  const { stage, failure, record } = input;
  const value = failedValue(record);
  const isCut = value.length > MAX_DEAD_LETTER_VALUE_BYTES;
  const note = isCut
    ? ` (only the first ${MAX_DEAD_LETTER_VALUE_BYTES} of ${value.length} bytes are kept here; the whole record is at its position)`
    : '';
  return {
    stage,
    reason: failure.reason,
    detail: failure.detail.slice(0, MAX_DETAIL_UNITS).toWellFormed() + note,
    fingerprint: fingerprintOf(stage, failure),
    topic: record.topic,
    partition: record.partition,
    offset: record.offset,
    index: failure.index,
    indexes: [...(failure.indexes ?? [])],
    events: failure.events,
    account_id: failure.accountId,
    message_id: failure.messageId,
    failed_at: input.failedAt,
    appended_at: record.timestamp,
    key: record.key?.subarray(0, MAX_KEY_BYTES) ?? null,
    value: isCut ? value.subarray(0, MAX_DEAD_LETTER_VALUE_BYTES) : value,
  };
}

/** A record of a batch stays in a batch of its own: that says which items the dead letter names. */
function failedValue({ value, inBatch }: SourceRecord): Buffer {
  if (value === null) return Buffer.alloc(0);
  return inBatch ? encodeRawBatch([{ items: inBatch.items, value }], inBatch.firstIndex) : value;
}

/**
 * Key in events.dead. A crash may write one twice: readers keep one per key. Of several items it
 * names the first and how many follow: an item is in one dead letter only.
 */
export function deadLetterKey({
  topic,
  partition,
  offset,
  index,
  indexes,
}: Pick<DeadLetter, 'topic' | 'partition' | 'offset' | 'index' | 'indexes'>): string {
  const items = indexes.length > 1 ? `${indexes[0]}+${indexes.length - 1}` : (index ?? 'record');
  return `${topic}/${partition}/${offset}/${items}`;
}

/** Whether the dead letter stands for this item of its record. */
export function standsFor(
  { index, indexes }: { index: number | null; indexes: readonly number[] | null },
  item: number,
): boolean {
  return index === null || index === item || indexes?.includes(item) === true;
}

/**
 * Dead letters with the same cause have the same fingerprint: quotations and numbers, which differ
 * from record to record, are left out.
 */
function fingerprintOf(stage: string, { reason, detail }: Failure): string {
  const shape = detail.replace(/"[^]*?"|'[^]*?'|[\d.]+/g, '?');
  return hash('sha256', `${stage}\n${reason}\n${shape}`, 'hex').slice(0, 16);
}

/**
 * Key in the table dead_letters. After the log went back, another record may have failed at the
 * same offset; `epoch`: of the failed record.
 */
export function indexKey(deadLetter: Parameters<typeof deadLetterKey>[0], epoch: number): string {
  const key = deadLetterKey(deadLetter);
  return epoch === 0 ? key : `${key}@${epoch}`;
}

/** The key in events.dead of a key in the table. */
export function keyOfIndexKey(key: string): string {
  return key.replace(/@\d+$/, '');
}

/** A record for platform/kafka/producer.ts. */
export interface DeadLetterRecord {
  topic: string;
  partition: number;
  key: string;
  value: Buffer;
}

/**
 * Dead letters of one partition go to one partition of events.dead, ordered by position.
 */
export function deadLetterRecord(
  deadLetter: DeadLetter,
  to: { topic: string; partitions: number },
): DeadLetterRecord {
  return {
    topic: to.topic,
    partition: deadLetter.partition % to.partitions,
    key: deadLetterKey(deadLetter),
    value: encodeDeadLetter(deadLetter),
  };
}
