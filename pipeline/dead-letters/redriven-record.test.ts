import { describe, expect, it } from 'vitest';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { sampleEvent, sampleRecord } from '../../events/testing/raw-records.ts';
import { redrivenRecords, redriveKey } from './redriven-record.ts';

const record = sampleRecord([sampleEvent('a'), sampleEvent('b'), sampleEvent('c')], {
  gateway: 'g',
  sequence: 10,
});
const bytes = rawRecordCodec.encode(record);
const deadLetter = { partition: 3, offset: 77, index: null, indexes: [], events: 3 };

describe('the raw record of a redrive', () => {
  it('keeps the items and the acceptance of a whole record, with the position of its first item', () => {
    expect(redrivenRecords(deadLetter, bytes, 0)).toEqual({
      kind: 'records',
      partition: 3,
      records: [{ ...record, redriven_from: { epoch: 0, partition: 3, offset: 77, index: 0 } }],
    });
  });

  it('contains a single item with its own sequence', () => {
    const made = redrivenRecords({ ...deadLetter, index: 2, events: 1 }, bytes, 0);
    expect(made).toMatchObject({
      records: [{ sequence: 12, items: [record.items[2]], redriven_from: { index: 2 } }],
    });
  });

  it('contains consecutive items together: the place of an item gives its original index', () => {
    const five = { ...record, items: [...record.items, ...record.items.slice(0, 2)] };
    const several = { ...deadLetter, index: 0, indexes: [0, 1, 4], events: 3 };
    const made = redrivenRecords(several, rawRecordCodec.encode(five), 0);
    expect(made).toMatchObject({
      kind: 'records',
      records: [
        { sequence: 10, items: five.items.slice(0, 2), redriven_from: { offset: 77, index: 0 } },
        { sequence: 14, items: [five.items[4]], redriven_from: { offset: 77, index: 4 } },
      ],
    });
    expect(redrivenRecords({ ...several, indexes: [0, 9] }, bytes, 0)).toMatchObject({
      kind: 'unready',
    });
  });

  it('has no original position when the record was never counted', () => {
    expect(redrivenRecords({ ...deadLetter, events: 0 }, bytes, 0)).toMatchObject({
      records: [{ items: record.items, redriven_from: null }],
    });
  });

  it('is not created from bytes that this version cannot read; the answer says what must happen first', () => {
    const strange = Buffer.from(bytes);
    strange[2] = (strange[2] ?? 0) ^ 1;
    expect(redrivenRecords(deadLetter, strange, 0)).toMatchObject({
      kind: 'unready',
      why: expect.stringContaining('run the version') as string,
    });
    expect(redrivenRecords(deadLetter, Buffer.from('{}'), 0)).toMatchObject({
      kind: 'unready',
      why: expect.stringContaining('discard') as string,
    });
    expect(redrivenRecords({ ...deadLetter, index: 9 }, bytes, 0)).toMatchObject({
      kind: 'unready',
    });
  });

  it('is recognised in the log by its acceptance and its original position', () => {
    const made = redrivenRecords({ ...deadLetter, index: 1, events: 1 }, bytes, 0);
    const other = redrivenRecords({ ...deadLetter, index: 2, events: 1 }, bytes, 0);
    if (made.kind !== 'records' || other.kind !== 'records') throw new Error('not made');
    const wanted = redriveKey(made.records[0]);
    const decoded = rawRecordCodec.decode(rawRecordCodec.encode(made.records[0]));
    expect(redriveKey(decoded)).toBe(wanted);
    expect(redriveKey(other.records[0])).not.toBe(wanted);
    expect(redriveKey(record)).not.toBe(wanted);
  });
});
