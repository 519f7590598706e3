import {
  decodeIfReadable,
  isUnknownSchema,
  rowBatchCodec,
  UnreadableRecord,
} from '../../schemas/codec.ts';
import type { EventRow, RowBatch } from '../../schemas/records.ts';
import { encodedRowReader, rowReader } from '../../schemas/row-reader.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';
import { PROFILE_EVENT_FIELDS, type ProfileEvent } from '../../projections/profiles/profile.ts';
import { profileEvents } from '../../projections/profiles/raw-events.ts';
import { writerWithRoom, type RebuiltRow } from '../../projections/events/rebuild.ts';
import type { ProjectionName } from '../../schemas/topology.ts';
import { SOURCE_FIELDS, type RowsOf, type SourceRow } from '../replay/source.ts';
import { wholeRows, type RowMaker } from '../../events/raw/decide.ts';
import { ItemEncoder } from '../../events/raw/encode-item.ts';
import type { ContextReader } from '../../events/normalise.ts';

/** A row as far as some target reads it. */
export type RebuildRow = SourceRow & (EventRow | RebuiltRow | ProfileEvent);

const readEncoded = encodedRowReader({
  fields: [...SOURCE_FIELDS, 'timestamp'],
  row: (row) => ({
    _epoch: row._epoch,
    _partition: row._partition,
    _offset: row._offset,
    _index: row._index,
    account_id: row.account_id,
    message_id: row.message_id,
    _dedupe_id: row._dedupe_id,
    received_at: row.received_at,
    timestamp: row.timestamp,
  }),
});
// One literal: two objects made into one cost half as much again.
const readProfileEvents = rowReader({
  fields: [...SOURCE_FIELDS, ...PROFILE_EVENT_FIELDS],
  row: (row): SourceRow & ProfileEvent => ({
    _epoch: row._epoch,
    _partition: row._partition,
    _offset: row._offset,
    _index: row._index,
    account_id: row.account_id,
    message_id: row.message_id,
    _dedupe_id: row._dedupe_id,
    received_at: row.received_at,
    event: row.event,
    user_id: row.user_id,
    anonymous_id: row.anonymous_id,
    timestamp: row.timestamp,
    revenue: row.revenue,
    traits: row.traits,
    trait_numbers: row.trait_numbers,
    profile: row.profile,
  }),
});

/**
 * How a rebuild makes rows, where its target does not need them as a whole: events are copied as
 * they are encoded, profiles are made of a tenth of the fields.
 */
export function rowsFor(projection: ProjectionName): RowsOf<RebuildRow> | undefined {
  switch (projection) {
    case 'events':
      return { normalised: encodedRows, raw: keptRows };
    case 'profiles':
      return {
        normalised: (value) => ifReadable(() => readProfileEvents({ value })),
        raw: profileEvents,
      };
    default:
      return undefined;
  }
}

function encodedRows(value: Buffer | null): readonly (RebuildRow | EventRow)[] | undefined {
  return ifReadable(() => {
    const rows = readEncoded(value);
    return rows?.[0]?.encoded.version === NEWEST_ROW_VERSION ? rows : wholeRowBatch(value);
  });
}

/** Rows that are encoded, and stay valid. */
function keptRows(contexts: ContextReader): RowMaker<RebuildRow | EventRow> {
  const encoder = new ItemEncoder(contexts);
  const whole = wholeRows(contexts);
  let writer = writerWithRoom();
  return (item) => {
    writer = writerWithRoom(writer);
    return encoder.encode(item, writer, NEWEST_ROW_VERSION) ?? whole(item);
  };
}

function wholeRowBatch(value: Buffer | null): RowBatch['rows'] | undefined {
  return decodeIfReadable(rowBatchCodec, value)?.rows;
}

/** Undefined for a damaged record. Throws UnreadableRecord for an unknown schema. */
function ifReadable<Rows>(read: () => Rows): Rows | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnreadableRecord && !isUnknownSchema(error)) return undefined;
    throw error;
  }
}
