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
const positionsOf = (batches: readonly BuiltRowBatch[]) =>
  batches.flatMap(({ value }) =>
    rowBatchCodec.decode(value).rows.map((one) => [one._offset, one._index, one.event.length]),
  );

describe('building row batches', () => {
  it('ends a batch at its limit of rows, with the first and last position and the first append time', () => {
    const builder = new RowBatchBuilder({ rows: 2, bytes: 100_000, rowBytes: 100_000 });
    for (const [offset, index, appendedAt] of [
      [5, 0, 50],
      [5, 1, 50],
      [7, 3, 70],
    ] as const)
      builder.add(row(offset, index), appendedAt);
    const batches = builder.finish();
    expect(batches.map(({ rows }) => rows)).toEqual([2, 1]);
    expect(batches.map(({ value }) => sliceRowBatch(value)?.head)).toMatchObject([
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

  it('holds rows of one epoch: its head names one, and positions are compared with it', () => {
    const builder = new RowBatchBuilder({ rows: 10, bytes: 100_000, rowBytes: 100_000 });
    builder.add(row(8, 0), 1);
    builder.add(row(9, 0), 1);
    builder.add({ ...row(7, 0), _epoch: 1 }, 2);
    expect(builder.finish().map(({ value }) => sliceRowBatch(value)?.head)).toMatchObject([
      { epoch: 0, first_offset: 8, last_offset: 9 },
      { epoch: 1, first_offset: 7, last_offset: 7, appended_at: 2 },
    ]);
  });

  it('contains every row once and in order, except rows that exceed the size of a Kafka record', () => {
    const limits = { rows: 5, bytes: 2000, rowBytes: 9000 };
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 12_000 }), { maxLength: 30 }), (sizes) => {
        const builder = new RowBatchBuilder(limits);
        const added = sizes.flatMap((bytes, offset) =>
          builder.add(row(offset, 0, bytes), offset) === 'added' ? [[offset, 0, bytes]] : [],
        );
        const batches = builder.finish();
        expect(positionsOf(batches)).toEqual(added);
        const fitting = sizes.filter(
          (bytes, offset) =>
            eventRowCodec.type.toBuffer(row(offset, 0, bytes)).length <= limits.rowBytes,
        );
        expect(added.map(([, , bytes]) => bytes)).toEqual(fitting);
        for (const batch of batches) expect(batch.rows).toBeLessThanOrEqual(limits.rows);
      }),
    );
  });

  it('throws for a row that does not match the schema, and keeps the rows before it', () => {
    const builder = new RowBatchBuilder({ rows: 10, bytes: 1000, rowBytes: 1000 });
    builder.add(row(1, 0), 1);
    expect(() => builder.add({ ...row(2, 0), timestamp: Number.NaN }, 1)).toThrow();
    builder.add(row(3, 0), 1);
    expect(positionsOf(builder.finish())).toEqual([
      [1, 0, 10],
      [3, 0, 10],
    ]);
  });
});
