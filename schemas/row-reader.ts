import avsc from 'avsc';
import { rowBatchCodec, UnreadableRecord } from './codec.ts';
import type { EventRow } from './records.ts';
import { sliceRowBatch, type EncodedRowBatch } from './row-batch.ts';
import { NEWEST_ROW_VERSION, ROW_VERSIONS, rowVersion } from './row-versions.ts';

/** Columns of a row's position in the raw log. */
export const POSITION_FIELDS = ['_epoch', '_partition', '_offset', '_index'] as const;

export type RowReader<Field extends keyof EventRow> = (message: {
  readonly value: Buffer | null;
}) => Pick<EventRow, Field>[];

/**
 * Decodes some fields of one row and returns where the next one begins. avsc returns an undefined
 * `value` when the bytes end early.
 */
export type RowDecoder<Row> = (
  bytes: Buffer,
  at: number,
) => { value: Row | undefined; offset: number };

/** Decoders of some fields, by version; a field that a version lacks has its default. */
export function rowDecoders<Row>(fields: readonly string[]): ReadonlyMap<number, RowDecoder<Row>> {
  const { type: newest, fields: all } = rowVersion(NEWEST_ROW_VERSION);
  const type = avsc.Type.forSchema({
    type: 'record',
    name: newest.name ?? '',
    fields: all.filter(({ name }) => fields.includes(name)),
  });
  const decode = type.decode.bind(type) as (
    bytes: Buffer,
    at: number,
    resolver: unknown,
  ) => ReturnType<RowDecoder<Row>>;
  return new Map(
    ROW_VERSIONS.map((row) => {
      const resolver = type.createResolver(row.type);
      return [row.version, (bytes, at) => decode(bytes, at, resolver)];
    }),
  );
}

/** The datum of a row: `bytes` from `from` to `to`, of a version of event-row. */
export interface EncodedDatum {
  version: number;
  bytes: Buffer;
  from: number;
  to: number;
}

/**
 * Reads some fields of the rows of an events.normalised record, ordered by position, and skips the
 * others. Throws UnreadableRecord. `mayContain` inspects the encoded rows: when it returns false no
 * row is of interest, and none is decoded.
 */
export function rowReader<Field extends keyof EventRow>(
  fields: readonly Field[],
  mayContain: (rows: Buffer) => boolean = () => true,
): RowReader<Field> {
  const decoders = rowDecoders<Pick<EventRow, Field>>(fields);
  return ({ value }) => {
    const batch = sliceOf(value);
    if (batch === undefined) return rowBatchCodec.decode(value ?? NOTHING).rows;
    return mayContain(batch.rows) ? decodeRows(batch, decoders, (row) => row) : [];
  };
}

/**
 * As rowReader, with the datum of each row. Undefined when the record has several blocks of rows:
 * its rows are decoded as a whole.
 */
export function encodedRowReader<Field extends keyof EventRow>(fields: readonly Field[]) {
  const decoders = rowDecoders<Pick<EventRow, Field>>(fields);
  return (
    value: Buffer | null,
  ): (Pick<EventRow, Field> & { encoded: EncodedDatum })[] | undefined => {
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
  decoders: ReadonlyMap<number, RowDecoder<Row>>,
  result: (row: Row, from: number, to: number) => Result,
): Result[] {
  try {
    const rows: Result[] = [];
    const decode = decoders.get(version);
    if (!decode) throw new RangeError(`no decoder of version ${version}`);
    let at = 0;
    while (rows.length < count) {
      const { value, offset: end } = decode(bytes, at);
      if (value === undefined || end <= at) break;
      rows.push(result(value, at, end));
      at = end;
    }
    if (rows.length !== count || at !== bytes.length)
      throw new RangeError('the rows are truncated or followed by further bytes');
    return rows;
  } catch (cause) {
    throw new UnreadableRecord('broken_datum', 'the rows of the batch cannot be read', { cause });
  }
}
