import type { EventRow } from '../../schemas/records.ts';
import { POSITION_FIELDS, rowReader } from '../../schemas/row-reader.ts';

const FIELDS = [
  ...POSITION_FIELDS,
  'account_id',
  'event',
  'user_id',
  'anonymous_id',
  'message_id',
  'timestamp',
  'received_at',
  'properties',
  'property_numbers',
] as const;

/** The fields of an event that relays match and send. */
export type RelayRow = Pick<EventRow, (typeof FIELDS)[number]>;

/** The rows of a record of events.normalised, ordered by position. Throws UnreadableRecord. */
export const readRows = rowReader({
  fields: FIELDS,
  row: (row): RelayRow => ({
    _epoch: row._epoch,
    _partition: row._partition,
    _offset: row._offset,
    _index: row._index,
    account_id: row.account_id,
    event: row.event,
    user_id: row.user_id,
    anonymous_id: row.anonymous_id,
    message_id: row.message_id,
    timestamp: row.timestamp,
    received_at: row.received_at,
    properties: row.properties,
    property_numbers: row.property_numbers,
  }),
});
