import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeRecord } from './decode.ts';
import { assemble, COLUMNS } from './insert-batch.ts';
import { messageOf, PARTITION, rowBatchOf } from './testing/row-records.ts';

describe('the columns of a batch', () => {
  it('are those of the table that it does not compute itself', () => {
    const folder = join(import.meta.dirname, 'ddl');
    const ddl = readdirSync(folder)
      .map((file) => readFileSync(join(folder, file), 'utf8'))
      .join('\n');
    const added = [
      ...ddl.matchAll(/^ALTER TABLE events ADD COLUMN IF NOT EXISTS (\w+)(?!.* DEFAULT )/gm),
    ].map(([, name]) => name);
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
