/**
 * Why a record or one of its events cannot be processed. Stable codes: operators filter by them.
 */
export type DeadReason =
  | 'empty_record' // a record without a value
  | 'not_single_object' // Ravand did not write these bytes
  | 'unknown_schema' // in dead letters of earlier releases; its reader waits now
  | 'other_schema' // a record of another topic
  | 'broken_datum' // the bytes do not match their schema
  | 'body_not_json' // the client's body is not valid JSON
  | 'body_not_event' // the body is neither an event nor a batch
  | 'item_missing' // the record lists an item that its body does not contain
  | 'not_normalisable' // normalisation threw an error
  | 'row_too_large'; // the row exceeds the size of a Kafka record

/**
 * What failed: a whole record of Kafka (`index` is null), one of its events, or several of them
 * (`indexes`, ascending; `index` is the first). They are numbered as in their positions.
 */
export interface Failure {
  reason: DeadReason;
  /** For operators. Stored in the dead letter, never logged: it may quote the client's data. */
  detail: string;
  index: number | null;
  indexes?: readonly number[];
  /** Accepted events that are missing until the dead letter is redriven; 0 when unknown. */
  events: number;
  accountId: number | null;
  messageId: string;
}

/** A Kafka record, as the consumer delivers it. */
export interface SourceRecord {
  topic: string;
  partition: number;
  offset: number;
  /** LogAppendTime, ms since the epoch. */
  timestamp: number;
  key: Buffer | null;
  value: Buffer | null;
  /** Of one of the records of a raw batch: `value` holds that one only. */
  inBatch?: {
    /** Number of its first item among those of the raw batch. */
    firstIndex: number;
    /** How many items it has, as the raw batch says. */
    items: number;
    /** The record of Kafka that holds the raw batch. */
    record: SourceRecord;
  };
}

/** Number of the first item of a source among the items of its record of Kafka. */
export function firstIndexOf({ inBatch }: Pick<SourceRecord, 'inBatch'>): number {
  return inBatch?.firstIndex ?? 0;
}

/** All items of a source: in a raw batch they name it, because others have the same offset. */
export function allItemsOf({ inBatch }: SourceRecord): Pick<Failure, 'index' | 'indexes'> {
  if (!inBatch) return { index: null };
  const { firstIndex, items } = inBatch;
  return { index: firstIndex, indexes: Array.from({ length: items }, (_, at) => firstIndex + at) };
}
