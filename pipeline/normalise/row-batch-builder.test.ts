import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventRowCodec, rowBatchCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';
import { sliceRowBatch } from '../../schemas/row-batch.ts';
import { RowBatchBuilder, type BuiltRowBatch } from './row-batch-builder.ts';

const empty = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;
const row = (offset: number, index: number, bytes = 10): EventRow => ({
  ...empty,
  _partition: 2,
  _offset: offset,
  _index: index,
  event: 'x'.repeat(bytes),
});
const placesOf = (runs: readonly BuiltRowBatch[]) =>
  runs.flatMap(({ value }) =>
    rowBatchCodec.decode(value).rows.map((one) => [one._offset, one._index, one.event.length]),
  );

describe('RunBuilder', () => {
  it('ends a run at its bound of rows, and tells first and last place and the append time of the first row', () => {
    const builder = new RowBatchBuilder({ rows: 2, bytes: 100_000, rowBytes: 100_000 });
    for (const [offset, index, appendedAt] of [
      [5, 0, 50],
      [5, 1, 50],
      [7, 3, 70],
    ] as const)
      builder.add(row(offset, index), appendedAt);
    const runs = builder.finish();
    expect(runs.map(({ rows }) => rows)).toEqual([2, 1]);
    expect(runs.map(({ value }) => sliceRowBatch(value)?.head)).toMatchObject([
      {
        partition: 2,
        first_offset: 5,
        first_index: 0,
        last_offset: 5,
        last_index: 1,
        appended_at: 50,
      },
      {
        partition: 2,
        first_offset: 7,
        first_index: 3,
        last_offset: 7,
        last_index: 3,
        appended_at: 70,
      },
    ]);
    expect(builder.finish()).toEqual([]);
  });

  it('holds every row once and in order, whatever their sizes; what fits no record is left out', () => {
    const limits = { rows: 5, bytes: 2000, rowBytes: 9000 };
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 12_000 }), { maxLength: 30 }), (sizes) => {
        const builder = new RowBatchBuilder(limits);
        const added = sizes.flatMap((bytes, offset) =>
          builder.add(row(offset, 0, bytes), offset) === 'added' ? [[offset, 0, bytes]] : [],
        );
        const runs = builder.finish();
        expect(placesOf(runs)).toEqual(added);
        const fitting = sizes.filter(
          (bytes, offset) =>
            eventRowCodec.type.toBuffer(row(offset, 0, bytes)).length <= limits.rowBytes,
        );
        expect(added.map(([, , bytes]) => bytes)).toEqual(fitting);
        for (const run of runs) expect(run.rows).toBeLessThanOrEqual(limits.rows);
      }),
    );
  });

  it('given a row that does not fit the schema, throws and keeps the rows before it', () => {
    const builder = new RowBatchBuilder({ rows: 10, bytes: 1000, rowBytes: 1000 });
    builder.add(row(1, 0), 1);
    expect(() => builder.add({ ...row(2, 0), timestamp: Number.NaN }, 1)).toThrow();
    builder.add(row(3, 0), 1);
    expect(placesOf(builder.finish())).toEqual([
      [1, 0, 10],
      [3, 0, 10],
    ]);
  });
});
