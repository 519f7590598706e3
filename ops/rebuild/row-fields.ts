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
import type { RebuiltRow } from '../../projections/events/rebuild.ts';
import type { ProjectionName } from '../../schemas/topology.ts';
import { SOURCE_FIELDS, type ReadRows, type SourceRow } from '../replay/source.ts';

/** A row as far as some target reads it. */
export type RebuildRow = SourceRow & (EventRow | RebuiltRow | ProfileEvent);

const readEncoded = encodedRowReader([...SOURCE_FIELDS, 'timestamp']);
const readProfileEvents = rowReader([...SOURCE_FIELDS, ...PROFILE_EVENT_FIELDS]);

/**
 * How a rebuild reads rows of events.normalised, where its target does not need them as a whole:
 * events are copied as they are encoded, profiles are made of a tenth of the fields.
 */
export function readRowsFor(projection: ProjectionName): ReadRows<RebuildRow> | undefined {
  switch (projection) {
    case 'events':
      return (value) =>
        ifReadable(() => {
          const rows = readEncoded(value);
          return rows?.[0]?.encoded.version === NEWEST_ROW_VERSION ? rows : wholeRows(value);
        });
    case 'profiles':
      return (value) => ifReadable(() => readProfileEvents({ value }));
    default:
      return undefined;
  }
}

function wholeRows(value: Buffer | null): RowBatch['rows'] | undefined {
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
