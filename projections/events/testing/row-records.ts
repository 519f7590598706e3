import type { ConsumedMessage } from '../../../platform/kafka/consumer-types.ts';
import { eventRowCodec, rowBatchCodec } from '../../../schemas/codec.ts';
import type { EventRow, RowBatchHead } from '../../../schemas/records.ts';

/** Partition of the records below. */
export const PARTITION = 2;

const EMPTY = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;

/** A row with the index 0 of a raw record. */
export function rowAt(offset: number, fields: Partial<EventRow> = {}): EventRow {
  return {
    ...EMPTY,
    _partition: PARTITION,
    _offset: offset,
    event: 'خرید',
    message_id: `m${offset}`,
    ...fields,
  };
}

/** Head of a row batch from the raw record `first` to the raw record `last`. */
export function headOf(first: number, last: number): RowBatchHead {
  return {
    epoch: 0,
    partition: PARTITION,
    first_offset: first,
    first_index: 0,
    last_offset: last,
    last_index: 0,
    appended_at: 5,
  };
}

/** A row batch with one row of each raw record from `first` to `last`. */
export function rowBatchOf(first: number, last: number): Buffer {
  const rows = Array.from({ length: last - first + 1 }, (_, at) => rowAt(first + at));
  return rowBatchCodec.encode({ ...headOf(first, last), rows });
}

/** A record of events.normalised. */
export function messageOf(value: Buffer | null, offset = 0): ConsumedMessage {
  return {
    topic: 't',
    partition: PARTITION,
    offset,
    timestamp: 1,
    key: null,
    value,
    size: value?.length ?? 0,
  };
}
