import { hash } from 'node:crypto';
import type { Failure, SourceRecord } from '../../events/raw/failure.ts';
import { deadLetterCodec } from '../../schemas/codec.ts';
import type { DeadLetter } from '../../schemas/records.ts';
import { TOPIC } from '../../schemas/topology.ts';

/**
 * A letter must fit into a record of 16 MiB itself: of a value above this only the beginning is
 * kept; the whole stands in the raw log.
 */
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
  const value = record.value ?? Buffer.alloc(0);
  const isCut = value.length > MAX_DEAD_LETTER_VALUE_BYTES;
  const note = isCut
    ? ` (only the first ${MAX_DEAD_LETTER_VALUE_BYTES} of ${value.length} bytes are kept here; the whole record is at its position)`
    : '';
  return {
    stage,
    reason: failure.reason,
    detail: failure.detail.slice(0, MAX_DETAIL_UNITS).toWellFormed() + note,
    fingerprint: causeOf(stage, failure),
    topic: record.topic,
    partition: record.partition,
    offset: record.offset,
    index: failure.index,
    events: failure.events,
    account_id: failure.accountId,
    message_id: failure.messageId,
    failed_at: input.failedAt,
    appended_at: record.timestamp,
    key: record.key?.subarray(0, MAX_KEY_BYTES) ?? null,
    value: isCut ? value.subarray(0, MAX_DEAD_LETTER_VALUE_BYTES) : value,
  };
}

/**
 * Key of a letter in events.dead. A crash between writing and committing writes a letter twice: who
 * reads them keeps one of a key.
 */
export function deadLetterKey(
  letter: Pick<DeadLetter, 'topic' | 'partition' | 'offset' | 'index'>,
): string {
  return `${letter.topic}/${letter.partition}/${letter.offset}/${letter.index ?? 'record'}`;
}

/**
 * Letters of one cause have one fingerprint: what differs from record to record (quotations,
 * numbers) is left out.
 */
function causeOf(stage: string, { reason, detail }: Failure): string {
  const shape = detail.replace(/"[^]*?"|'[^]*?'|[\d.]+/g, '?');
  return hash('sha256', `${stage}\n${reason}\n${shape}`, 'hex').slice(0, 16);
}

export const DEAD_LETTER_TOPIC = TOPIC.dead;

/** A record for the log, as platform/kafka/producer.ts takes it. */
export interface DeadLetterRecord {
  topic: string;
  partition: number;
  key: string;
  value: Buffer;
}

/**
 * Letters of one partition of the log lie in one partition of the topic, in the order of their
 * positions.
 */
export function deadLetterRecord(
  letter: DeadLetter,
  to: { topic: string; partitions: number },
): DeadLetterRecord {
  return {
    topic: to.topic,
    partition: letter.partition % to.partitions,
    key: deadLetterKey(letter),
    value: deadLetterCodec.encode(letter),
  };
}
