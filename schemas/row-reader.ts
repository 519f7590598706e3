import { carriedFingerprint, rowBatchCodec, UnreadableRecord } from './codec.ts';
import { afterCount, entriesAt } from './datum-skip.ts';
import type { EventRow } from './records.ts';
import { afterHead, sliceRowBatch, type EncodedRowBatch } from './row-batch.ts';
import { rowDecoders, type MapField, type RowDecoders, type RowShape } from './row-decoder.ts';
import { rowVersionOf } from './row-versions.ts';

/** Columns of a row's position in the raw log. */
export const POSITION_FIELDS = ['_epoch', '_partition', '_offset', '_index'] as const;

export type RowReader<Row> = (message: { readonly value: Buffer | null }) => Row[];

/**
 * Reads some fields of the rows of an events.normalised record, ordered by position, and skips the
 * others. Throws UnreadableRecord. `mayContain` inspects the encoded rows: when it returns false no
 * row is of interest, and none is decoded.
 */
export function rowReader<Row, Field extends keyof EventRow, Keys extends MapField = never>(
  shape: RowShape<Row, Field, Keys>,
  mayContain: (rows: Buffer) => boolean = () => true,
): RowReader<Row> {
  const decoders = rowDecoders(shape);
  return ({ value }) => {
    const batch = sliceOf(value);
    if (batch === undefined) return decodeBlocks(value ?? NOTHING, decoders);
    return mayContain(batch.rows) ? decodeRows(batch, decoders, (row) => row) : [];
  };
}

/** The datum of a row: `bytes` from `from` to `to`, of a version of event-row. */
export interface EncodedDatum {
  version: number;
  bytes: Buffer;
  from: number;
  to: number;
}

/**
 * As rowReader, with the datum of each row. Undefined when the record has several blocks of rows:
 * its rows are decoded as a whole.
 */
export function encodedRowReader<Row, Field extends keyof EventRow>(shape: RowShape<Row, Field>) {
  const decoders = rowDecoders(shape);
  return (value: Buffer | null): (Row & { encoded: EncodedDatum })[] | undefined => {
    const batch = sliceOf(value);
    if (batch === undefined) return undefined;
    const { version, rows: bytes } = batch;
    return decodeRows(batch, decoders, (row, from, to) => ({
      ...row,
      encoded: { version, bytes, from, to },
    }));
  };
}

const NOTHING = Buffer.alloc(0);

function sliceOf(value: Buffer | null): EncodedRowBatch | undefined {
  if (!value) throw new UnreadableRecord('not_single_object', 'the record has no value');
  return sliceRowBatch(value);
}

function decodeRows<Row, Result>(
  { rows: bytes, count, version }: EncodedRowBatch,
  decoders: RowDecoders<Row>,
  result: (row: Row, from: number, to: number) => Result,
): Result[] {
  try {
    const rows: Result[] = [];
    const decoder = decoders.get(version);
    if (!decoder) throw new RangeError(`no decoder of version ${version}`);
    let at = 0;
    while (rows.length < count) {
      const row = decoder.read(bytes, at);
      if (row === undefined) break;
      rows.push(result(row, at, decoder.end));
      at = decoder.end;
    }
    if (rows.length !== count || at !== bytes.length)
      throw new RangeError('the rows are truncated or followed by further bytes');
    return rows;
  } catch (cause) {
    throw new UnreadableRecord('broken_datum', 'the rows of the batch cannot be read', { cause });
  }
}

/** Rows in several blocks, which nothing of ours writes, or in none. Throws UnreadableRecord. */
function decodeBlocks<Row>(value: Buffer, decoders: RowDecoders<Row>): Row[] {
  const decoder = decoders.get(rowVersionOf(carriedFingerprint(value))?.version ?? 0);
  if (!decoder) return refuse(value);
  const rows: Row[] = [];
  try {
    let at = afterHead(value);
    for (let count = entriesAt(value, at); count > 0; count = entriesAt(value, at)) {
      at = afterCount(value, at);
      for (; count > 0; count--) {
        const row = decoder.read(value, at);
        if (row === undefined) throw new RangeError(`row ${rows.length} is no row`);
        rows.push(row);
        at = decoder.end;
      }
    }
    if (afterCount(value, at) !== value.length) throw new RangeError('further bytes follow');
  } catch (cause) {
    throw new UnreadableRecord('broken_datum', 'the rows of the batch cannot be read', { cause });
  }
  return rows;
}

/** Throws what the codec says of a record of another schema. */
function refuse(value: Buffer): never {
  rowBatchCodec.decode(value);
  throw new Error('the codec reads a version of normalised-run that ROW_VERSIONS lacks');
}
