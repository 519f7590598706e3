import { rowReader, type RowReader } from '../../schemas/row-reader.ts';
import type { ProfileEvent } from './profile.ts';

const FIELDS = [
  ...([
    '_epoch',
    '_partition',
    '_offset',
    '_index',
    'account_id',
    'event',
    'user_id',
    'anonymous_id',
  ] as const),
  ...(['timestamp', 'received_at', 'revenue', 'traits', 'trait_numbers', 'profile'] as const),
] as const satisfies readonly (keyof ProfileEvent)[];

/** The events of a record, in the order of their positions. Throws UnreadableRecord. */
export const readEvents: RowReader<keyof ProfileEvent> = rowReader(FIELDS);
