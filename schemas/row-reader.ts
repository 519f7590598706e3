import avsc from 'avsc';
import { eventRowCodec, rowBatchCodec, UnreadableRecord } from './codec.ts';
import type { EventRow } from './records.ts';
import { sliceRowBatch } from './row-batch.ts';

/** Columns of a row's position in the raw log. */
export const POSITION_FIELDS = ['_epoch', '_partition', '_offset', '_index'] as const;

export type RowReader<Field extends keyof EventRow> = (message: {
  readonly value: Buffer | null;
}) => Pick<EventRow, Field>[];

/** avsc returns an undefined `value` when the bytes end early. */
type Decode<Row> = (
  bytes: Buffer,
  at: number,
  resolver: unknown,
) => { value: Row | undefined; offset: number };

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
  const whole = eventRowCodec.type.schema() as unknown as {
    name: string;
    fields: { name: Field; type: avsc.Schema }[];
  };
  const type = avsc.Type.forSchema({
    type: 'record',
    name: whole.name,
    fields: whole.fields.filter(({ name }) => fields.includes(name)),
  });
  const resolver = type.createResolver(eventRowCodec.type);
  const decode = type.decode.bind(type) as Decode<Row>;

  const decodeAll = (bytes: Buffer, count: number): Row[] => {
    const rows: Row[] = [];
    let at = 0;
    while (rows.length < count) {
      const { value, offset: end } = decode(bytes, at, resolver);
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
      return decodeAll(batch.rows, batch.count);
    } catch (cause) {
      throw new UnreadableRecord('broken_datum', 'the rows of the batch cannot be read', { cause });
    }
  };
}
