import { isJsonObject } from '../json.ts';
import { isUnknownSchema, rawRecordCodec, UnreadableRecord } from '../../schemas/codec.ts';
import { RawReader, type RawFacts, type RawText } from '../../schemas/raw-reader.ts';
import { recordsInBatch } from '../../schemas/raw-batch.ts';
import type { RawRecord } from '../../schemas/records.ts';
import { allItemsOf, type Failure, type SourceRecord } from './failure.ts';

/** A record of events.raw with its parsed body. */
export interface DecodedRecord {
  readonly state: 'decoded';
  readonly source: SourceRecord;
  readonly record: RawFacts;
  /** The client's events; `RawItem.at` is an index into them. */
  readonly envelopes: readonly unknown[];
  /** `context` of the batch, for events without their own. */
  readonly batchContext: unknown;
}

export interface UndecodableRecord {
  readonly state: 'undecodable';
  readonly source: SourceRecord;
  readonly failure: Failure;
  /** Receive time, ms; the append time when the record cannot be decoded. */
  readonly receivedAt: number;
}

export type DecodeResult = DecodedRecord | UndecodableRecord;

const reader = new RawReader();

/** The record with the bytes that clients sent, which a decoded one does not hold. */
export function wholeRecord({ source, record }: DecodedRecord): RawRecord {
  if (source.value === null) throw new Error('a decoded record has a value');
  const { body, delivery } = rawRecordCodec.decode(source.value);
  return { ...record, body, delivery };
}

/**
 * The raw records of a record of Kafka, in order: itself, or those of a raw batch. One that cannot
 * be decoded leaves the others of its batch as they are; a damaged batch is undecodable as a whole.
 * Throws as decodeRecord does.
 */
export function decodeRecords(source: SourceRecord): DecodeResult[] {
  let batch: ReturnType<typeof recordsInBatch>;
  try {
    batch = source.value === null ? undefined : recordsInBatch(source.value);
  } catch (error) {
    if (error instanceof UnreadableRecord)
      return [undecodable(source, { reason: error.code, detail: error.message })];
    throw error;
  }
  if (!batch) return [decodeRecord(source)];
  return batch.map(({ value, firstIndex, items }) =>
    decodeRecord({ ...source, value, inBatch: { firstIndex, items } }),
  );
}

/**
 * Decodes one raw record and parses its body. A record that cannot be decoded or parsed is
 * undecodable as a whole; other errors are thrown, as is an unknown schema (UnreadableRecord): the
 * reader waits for a release that knows it.
 */
export function decodeRecord(source: SourceRecord): DecodeResult {
  if (source.value === null)
    return undecodable(source, { reason: 'empty_record', detail: 'the record has no value' });
  let read: RawText;
  try {
    read = reader.read(source.value);
  } catch (error) {
    if (error instanceof UnreadableRecord && !isUnknownSchema(error))
      return undecodable(source, { reason: error.code, detail: error.message });
    throw error;
  }
  const { record } = read;
  const { inBatch } = source;
  if (inBatch && inBatch.items !== record.items.length)
    return undecodable(source, {
      reason: 'broken_datum',
      detail: `the raw batch says that the record has ${inBatch.items} items, it has ${record.items.length}`,
    });
  let body: unknown;
  try {
    body = JSON.parse(read.body);
  } catch (error) {
    return invalidBody(source, {
      record,
      reason: 'body_not_json',
      detail: withoutQuotes((error as Error).message),
    });
  }
  if (!isJsonObject(body))
    return invalidBody(source, {
      record,
      reason: 'body_not_event',
      detail: 'the body is not a JSON object',
    });
  if (record.shape !== 'batch')
    return { state: 'decoded', source, record, envelopes: [body], batchContext: undefined };
  const envelopes = body['batch'];
  if (!Array.isArray(envelopes))
    return invalidBody(source, {
      record,
      reason: 'body_not_event',
      detail: 'the body of a batch has no array batch',
    });
  return { state: 'decoded', source, record, envelopes, batchContext: body['context'] };
}

function undecodable(
  source: SourceRecord,
  why: Pick<Failure, 'reason' | 'detail'>,
): UndecodableRecord {
  return {
    state: 'undecodable',
    source,
    receivedAt: source.timestamp,
    failure: { ...why, ...allItemsOf(source), events: 0, accountId: null, messageId: '' },
  };
}

function invalidBody(
  source: SourceRecord,
  { record, ...why }: Pick<Failure, 'reason' | 'detail'> & { record: RawFacts },
): UndecodableRecord {
  const { items, account_id: accountId, received_at: receivedAt } = record;
  const messageId = items.length === 1 ? (items[0]?.message_id ?? '') : '';
  return {
    state: 'undecodable',
    source,
    receivedAt,
    failure: { ...why, ...allItemsOf(source), events: items.length, accountId, messageId },
  };
}

/** JSON.parse quotes the invalid text; a dead letter must not contain it. */
function withoutQuotes(message: string): string {
  return message
    .replace(/, (?:\.\.\.)?"[^]*"(?:\.\.\.)? is not valid JSON$/, ' is not valid JSON')
    .replace(/"[^]*" is not valid JSON$/, 'the body is not valid JSON');
}
