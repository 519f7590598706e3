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

/**
 * Reads some fields of the rows of an events.normalised record, ordered by position, and skips the
 * others. Throws UnreadableRecord. `mayContain` inspects the encoded rows: when it returns false no
 * row is of interest, and none is decoded.
 */
export function rowReader<Field extends keyof EventRow>(
  fields: readonly Field[],
  mayContain: (rows: Buffer) => boolean = () => true,
): RowReader<Field> {
  type Row = Pick<EventRow, Field>;
  const decoders = rowDecoders<Row>(fields);

  const decodeAll = ({ rows: bytes, count, version }: EncodedRowBatch): Row[] => {
    const rows: Row[] = [];
    const decode = decoders.get(version);
    if (!decode) throw new RangeError(`no decoder of version ${version}`);
    let at = 0;
    while (rows.length < count) {
      const { value, offset: end } = decode(bytes, at);
      if (value === undefined || end <= at) break;
      rows.push(value);
      at = end;
    }
    if (rows.length !== count || at !== bytes.length)
      throw new RangeError('the rows are truncated or followed by further bytes');
    return rows;
  };

  return ({ value }) => {
    if (!value) throw new UnreadableRecord('not_single_object', 'the record has no value');
    const batch = sliceRowBatch(value);
    if (!batch) return rowBatchCodec.decode(value).rows;
    if (!mayContain(batch.rows)) return [];
    try {
      return decodeAll(batch);
    } catch (cause) {
      throw new UnreadableRecord('broken_datum', 'the rows of the batch cannot be read', { cause });
    }
  };
}
