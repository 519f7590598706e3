import { eventRowCodec, rowBatchCodec } from '../../../schemas/codec.ts';
import type { EventRow } from '../../../schemas/records.ts';
import type { Relay } from '../relay.ts';

const empty = eventRowCodec.type.random() as unknown as EventRow;

/** A row of partition 2 at this offset. */
export function row(offset: number, over: Partial<EventRow> = {}): EventRow {
  return {
    ...empty,
    ...{
      _epoch: 0,
      _partition: 2,
      _offset: offset,
      _index: 0,
      account_id: 1,
      event: 'a',
      user_id: 'u',
      anonymous_id: '',
      message_id: `m${offset}`,
    },
    ...{
      timestamp: 0,
      received_at: 1000,
      properties: { n: String(offset) },
      property_numbers: { n: offset },
    },
    ...over,
  };
}

/** A record of events.normalised. */
export function message(offset: number, rows: EventRow[]) {
  const [first, last] = [rows[0], rows.at(-1)];
  const value = rowBatchCodec.encode({
    ...{
      epoch: 0,
      partition: 2,
      first_offset: first?._offset ?? 0,
      first_index: 0,
      last_offset: last?._offset ?? 0,
      last_index: 0,
      appended_at: 0,
    },
    rows,
  });
  return {
    topic: 't',
    partition: 2,
    offset,
    timestamp: 5000,
    key: null,
    value,
    size: value.length,
  };
}

/** An enabled relay of account 1 that matches every event. */
export function relay(id: number, over: Partial<Relay> = {}): Relay {
  return {
    id,
    accountId: 1,
    url: `https://r${id}.example/`,
    secret: { kind: 'none' },
    matches: () => true,
    ...over,
  };
}
