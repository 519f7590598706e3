import { dayText, tehranDay } from '../../events/tehran-time.ts';
import { propertyKeys, type CatalogueRow, type CountedEvent } from './count.ts';

/** Chunks from this number on hold one event each, added by a replay after the count. */
export const FIRST_ADDED_CHUNK = 2 ** 60;

const EVENTS_PER_RECORD = 2n ** 16n;

/** A row of event_catalogue; `chunk` may exceed the exact range of a number. */
export type AddedRow = Omit<CatalogueRow, 'chunk'> & { chunk: string };

/**
 * The row of one event that the counter of its partition does not read. Its log position is its
 * chunk, so writing it again changes nothing.
 */
export function addedRow(event: CountedEvent & { _partition: number }): AddedRow {
  const position = BigInt(event._offset) * EVENTS_PER_RECORD + BigInt(event._index);
  return {
    account_id: event.account_id,
    day: dayText(tehranDay(event.timestamp)),
    event: event.event,
    _epoch: event._epoch,
    _partition: event._partition,
    chunk: String(BigInt(FIRST_ADDED_CHUNK) + position),
    count: 1,
    prop_keys: [...propertyKeys(event)].sort(),
    last_seen: event.timestamp,
    version: 1,
    chunk_from: 0,
  };
}
