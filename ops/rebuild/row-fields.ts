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
import type { RebuiltRow } from '../../projections/events/rebuild.ts';
import type { ProjectionName } from '../../schemas/topology.ts';
import { SOURCE_FIELDS, type RawRows, type ReadRows, type SourceRow } from '../replay/source.ts';
import { AvroWriter } from '../../schemas/avro-writer.ts';
import { wholeRows, type RowMaker } from '../../events/raw/decide.ts';
import { ItemEncoder } from '../../events/raw/encode-item.ts';
import type { ContextReader } from '../../events/normalise.ts';

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
          return rows?.[0]?.encoded.version === NEWEST_ROW_VERSION ? rows : wholeRowBatch(value);
        });
    case 'profiles':
      return (value) => ifReadable(() => readProfileEvents({ value }));
    default:
      return undefined;
  }
}

/** The same for events of events.raw, which are normalised again. */
export function rawRowsFor(projection: ProjectionName): RawRows<RebuildRow> | undefined {
  switch (projection) {
    case 'events':
      return keptRows;
    case 'profiles':
      return profileEvents;
    default:
      return undefined;
  }
}

/** Rows that are encoded, and stay valid. */
function keptRows(contexts: ContextReader): RowMaker<RebuildRow | EventRow> {
  const encoder = new ItemEncoder(contexts);
  const whole = wholeRows(contexts);
  let writer = new AvroWriter(WRITER_BYTES);
  return (item) => {
    if (writer.end > WRITER_BYTES - ROOM_BYTES) writer = new AvroWriter(WRITER_BYTES);
    return encoder.encode(item, writer, NEWEST_ROW_VERSION) ?? whole(item);
  };
}

const WRITER_BYTES = 512 * 1024;
/** Enough for nearly every row; a buffer that is too small for one grows, and is copied. */
const ROOM_BYTES = 32 * 1024;

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
