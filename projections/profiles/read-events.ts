import { rowReader, type RowReader } from '../../schemas/row-reader.ts';
import { PROFILE_EVENT_FIELDS, type ProfileEvent } from './profile.ts';

/** The events of a record, in the order of their positions. Throws UnreadableRecord. */
export const readEvents: RowReader<keyof ProfileEvent> = rowReader(PROFILE_EVENT_FIELDS);
