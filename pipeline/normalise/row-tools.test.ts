import { expect, it } from 'vitest';
import { decideItem } from '../../events/raw/decide.ts';
import { decodeRecord } from '../../events/raw/decode-record.ts';
import { sampleEvent, sampleMessage, sampleRecord } from '../../events/testing/raw-records.ts';
import { rowBatchCodec } from '../../schemas/codec.ts';
import type { RawRecord } from '../../schemas/records.ts';
import { sliceRowBatch } from '../../schemas/row-batch.ts';
import { rowTools } from './row-tools.ts';

const common = sampleRecord([sampleEvent('a')]);
/** An event that is made a value before it is encoded: its key is changed. */
const uncommon = sampleRecord([sampleEvent('b', { properties: { 'a.b': 1 } })]);

it('rows of both forms of one batch are of the version that it began with, in their order', () => {
  let written = 1;
  const limits = { rows: 4, bytes: 100_000, rowBytes: 100_000 };
  const { rowBatches, makeRow } = rowTools({ limits, userAgents: 10, written: () => written });
  const add = (record: RawRecord, offset: number) => {
    const decoded = decodeRecord(sampleMessage(record, { offset }));
    if (decoded.state !== 'decoded') throw new Error('the record is damaged');
    const position = { epoch: 0, partition: 0, offset, index: 0 };
    const resolution = { verdict: 'first' } as const;
    const decision = decideItem(
      { decoded, index: 0, position, acceptance: 1, resolution },
      makeRow,
    );
    if (decision.kind !== 'publish') throw new Error('the event is no row');
    rowBatches.add(decision.row, 0);
    return 'encoded' in decision.row;
  };
  const forms = [0, 1, 2, 3, 4, 5].map((offset) => {
    written = offset < 2 ? 1 : 2;
    return add(offset % 2 === 0 ? common : uncommon, offset);
  });
  expect(forms).toEqual([true, false, true, false, true, false]);
  const batches = rowBatches.finish();
  expect(batches.map(({ value }) => sliceRowBatch(value)?.version)).toEqual([1, 2]);
  const rows = batches.flatMap(({ value }) => rowBatchCodec.decode(value).rows);
  expect(rows.map(({ _offset, message_id }) => [_offset, message_id])).toEqual(
    [0, 1, 2, 3, 4, 5].map((offset) => [offset, offset % 2 === 0 ? 'a' : 'b']),
  );
});
