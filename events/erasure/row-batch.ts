import { rowBatchCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';
import { joinRowBatch, sliceRowBatch } from '../../schemas/row-batch.ts';
import { rowDecoders } from '../../schemas/row-decoder.ts';
import { POSITION_FIELDS } from '../../schemas/row-reader.ts';
import { distinctIdOf } from '../event-name.ts';
import type { ErasedPeople } from './erased-people.ts';

const FIELDS = [...POSITION_FIELDS, 'account_id', 'user_id', 'anonymous_id'] as const;
type PersonRow = Pick<EventRow, (typeof FIELDS)[number]>;
const decoders = rowDecoders({
  fields: FIELDS,
  row: (row): PersonRow => ({
    _epoch: row._epoch,
    _partition: row._partition,
    _offset: row._offset,
    _index: row._index,
    account_id: row.account_id,
    user_id: row.user_id,
    anonymous_id: row.anonymous_id,
  }),
});

/** Whether the event of a row of events.normalised is erased. */
export function isErasedRow(row: PersonRow, erased: ErasedPeople): boolean {
  const place = { epoch: row._epoch, partition: row._partition, offset: row._offset };
  return erased.covers({
    accountId: row.account_id,
    distinctId: distinctIdOf(row),
    places: [place],
  });
}

/**
 * The row batch without the rows of erased people; undefined when it holds none. Its head stays,
 * and the other rows keep their bytes. Throws UnreadableRecord.
 */
export function eraseFromRowBatch(value: Buffer, erased: ErasedPeople): Buffer | undefined {
  if (erased.isEmpty) return undefined;
  const batch = sliceRowBatch(value);
  if (!batch) return eraseFromBlocks(value, erased);
  const { epoch, partition, first_offset: offset } = batch.head;
  if (!erased.mayCover({ epoch, partition, offset })) return undefined;
  const decoder = decoders.get(batch.version);
  const kept: Buffer[] = [];
  let at = 0;
  for (let row = 0; row < batch.count; row++) {
    const person = decoder?.read(batch.rows, at);
    // Damaged: its readers report it.
    if (!decoder || !person) return undefined;
    if (!isErasedRow(person, erased)) kept.push(batch.rows.subarray(at, decoder.end));
    at = decoder.end;
  }
  if (kept.length === batch.count) return undefined;
  return joinRowBatch({ ...batch, count: kept.length, rows: Buffer.concat(kept) });
}

/** Nothing of ours writes several blocks of rows; a batch without rows is read here, too. */
function eraseFromBlocks(value: Buffer, erased: ErasedPeople): Buffer | undefined {
  const { rows, ...head } = rowBatchCodec.decode(value);
  const kept = rows.filter((row) => !isErasedRow(row, erased));
  return kept.length === rows.length ? undefined : rowBatchCodec.encode({ ...head, rows: kept });
}

/** Whether a row of the batch, decoded in part and as it is encoded, is such a one. */
export function hasRow(
  value: Buffer,
  isSuch: (row: PersonRow, encoded: Buffer) => boolean,
): boolean {
  const batch = sliceRowBatch(value);
  // Without rows, or of a schema that nothing of ours writes.
  if (!batch) return false;
  const decoder = decoders.get(batch.version);
  let at = 0;
  for (let row = 0; row < batch.count; row++) {
    const person = decoder?.read(batch.rows, at);
    // Damaged: nobody can tell whose it is.
    if (!decoder || !person) return true;
    if (isSuch(person, batch.rows.subarray(at, decoder.end))) return true;
    at = decoder.end;
  }
  return false;
}
