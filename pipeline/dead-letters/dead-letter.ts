import { hash } from 'node:crypto';
import type { DeadLetter } from '../../schemas/records.ts';

/**
 * Why a record or one of its events could not be processed. Codes are stable: operators filter by
 * them.
 */
export type DeadReason =
  | 'empty_record' // a record without a value
  | 'not_single_object' // the bytes were not written by Ravand
  | 'unknown_schema' // written by a version that this one does not know: upgrade, then redrive
  | 'broken_datum' // the bytes do not fit their schema
  | 'body_not_json' // the client's bytes do not parse
  | 'body_not_event' // they parse, and are neither an event nor a batch
  | 'item_missing' // the record names an item that its body does not hold
  | 'not_normalisable' // the normalisation failed on it
  | 'row_too_large'; // the row exceeds what a record of the log can hold

/** What failed: a whole record (`index` null) or one of its events. */
export interface Failure {
  reason: DeadReason;
  /** A sentence for people. Kept in the letter, never logged: it may quote the client's data. */
  detail: string;
  index: number | null;
  /**
   * How many accepted events are lost to the pipeline until the letter is redriven; 0 when unknown.
   */
  events: number;
  accountId: number | null;
  messageId: string;
}

/** The record of the log that failed. */
export interface FailedRecord {
  topic: string;
  partition: number;
  offset: number;
  /** When the log took it, ms since the epoch. */
  timestamp: number;
  key: Buffer | null;
  value: Buffer | null;
}

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
  record: FailedRecord;
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
