import avsc from 'avsc';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventRowCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';
import { decodeRecord } from './decode.ts';
import { assemble, avroContainer, COLUMNS } from './insert-batch.ts';
import { messageOf, PARTITION, rowAt, rowBatchOf } from './testing/row-records.ts';

describe('an Avro container', () => {
  it('is a file that a strict reader accepts, and the same bytes for the same token', async () => {
    const datums = [rowAt(1), rowAt(2, { properties: { a: 'b' } })].map((row) =>
      eventRowCodec.type.toBuffer(row),
    );
    const rows = { version: NEWEST_ROW_VERSION, count: 2, datums };
    const bytes = avroContainer({ token: 't', ...rows });
    expect(avroContainer({ token: 't', ...rows })).toEqual(bytes);
    expect(avroContainer({ token: 'u', ...rows })).not.toEqual(bytes);
    const decoder = new avsc.streams.BlockDecoder();
    decoder.end(bytes);
    const offsets: number[] = [];
    for await (const row of decoder) offsets.push((row as EventRow)._offset);
    expect(offsets).toEqual([1, 2]);
  });

  it('names every column of the table that the table does not compute itself', () => {
    const folder = join(import.meta.dirname, 'ddl');
    const ddl = readdirSync(folder)
      .map((file) => readFileSync(join(folder, file), 'utf8'))
      .join('\n');
    const added = [...ddl.matchAll(/^ALTER TABLE events ADD COLUMN IF NOT EXISTS (\w+)/gm)].map(
      ([, name]) => name,
    );
    const columns = [...ddl.matchAll(/^ {2}([a-z_]+) (?!.*MATERIALIZED)\w.*,?$/gm)].map(
      ([, name]) => name,
    );
    expect(COLUMNS).toEqual([...columns, ...added]);
  });
});

describe('assemble', () => {
  it('copies whole records and cuts a record that was processed in part', () => {
    const records = [
      decodeRecord(messageOf(rowBatchOf(1, 3), 7)),
      decodeRecord(messageOf(rowBatchOf(4, 5), 8)),
    ];
    const slices = [
      { offset: 7, above: { epoch: 0, offset: 1, index: 0 } },
      { offset: 8, above: undefined },
    ];
    const batch = assemble({ token: 't', partition: PARTITION, slices, records });
    expect(batch.count).toBe(4);
    expect(batch.datums[1]).toBe(records[1]?.rowBatch?.rows);
    expect(batch.rows().map(({ position }) => position.offset)).toEqual([2, 3, 4, 5]);
    const [first] = batch.rows();
    expect(first && batch.origin(first).index).toBe(1);
  });
});
