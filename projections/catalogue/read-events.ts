import { rowReader } from '../../schemas/row-reader.ts';
import type { CountedEvent } from './count.ts';

/** What is counted of the events of a record of events.normalised. Throws UnreadableRecord. */
export const readCountedEvents = rowReader({
  fields: ['_epoch', '_offset', '_index', 'account_id', 'event', 'timestamp'],
  keysOf: ['properties'],
  row: (row): CountedEvent => ({
    _epoch: row._epoch,
    _offset: row._offset,
    _index: row._index,
    account_id: row.account_id,
    event: row.event,
    timestamp: row.timestamp,
    properties: row.properties,
  }),
});
