import { rowReader } from '../../schemas/row-reader.ts';
import { PROFILE_EVENT_FIELDS, type ProfileEvent } from './profile.ts';

/** The events of a record, in the order of their positions. Throws UnreadableRecord. */
export const readEvents = rowReader({
  fields: PROFILE_EVENT_FIELDS,
  row: (row): ProfileEvent => ({
    _epoch: row._epoch,
    _partition: row._partition,
    _offset: row._offset,
    _index: row._index,
    account_id: row.account_id,
    event: row.event,
    user_id: row.user_id,
    anonymous_id: row.anonymous_id,
    timestamp: row.timestamp,
    received_at: row.received_at,
    revenue: row.revenue,
    traits: row.traits,
    trait_numbers: row.trait_numbers,
    profile: row.profile,
  }),
});
