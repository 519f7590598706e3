import { dayText, tehranDay } from '../../events/tehran-time.ts';
import type { CatalogueRow, CountedEvent } from './count.ts';

/**
 * Chunks from this number on are no stretch of the raw log: each holds one event that a replay
 * added after its stretch was counted.
 */
export const FIRST_ADDED_CHUNK = 2 ** 60;

const PLACES = 2n ** 16n;

/** A row of event_catalogue; `chunk` may be larger than a number holds exactly. */
export type AddedRow = Omit<CatalogueRow, 'chunk'> & { chunk: string };

/**
 * The row of one event that the counter of its partition will never meet. Its chunk is its place,
 * so that it counts once however often it is written.
 */
export function addedRow(event: CountedEvent & { _partition: number }): AddedRow {
  const place = BigInt(event._offset) * PLACES + BigInt(event._index);
  return {
    account_id: event.account_id,
    day: dayText(tehranDay(event.timestamp)),
    event: event.event,
    _epoch: event._epoch,
    _partition: event._partition,
    chunk: String(BigInt(FIRST_ADDED_CHUNK) + place),
    count: 1,
    prop_keys: Object.keys(event.properties).sort(),
    last_seen: event.timestamp,
    version: 1,
    chunk_from: 0,
  };
}
