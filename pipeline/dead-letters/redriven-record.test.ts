import { describe, expect, it } from 'vitest';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { sampleEvent, sampleRecord } from '../../events/testing/raw-records.ts';
import { isRedriveOf, redrivenRecord } from './redriven-record.ts';

const record = sampleRecord([sampleEvent('a'), sampleEvent('b'), sampleEvent('c')], {
  gateway: 'g',
  sequence: 10,
});
const bytes = rawRecordCodec.encode(record);
const deadLetter = { partition: 3, offset: 77, index: null, events: 3 };

describe('the raw record of a redrive', () => {
  it('keeps the items and the acceptance of a whole record, with the position of its first item', () => {
    expect(redrivenRecord(deadLetter, bytes, 0)).toEqual({
      kind: 'record',
      partition: 3,
      record: { ...record, redriven_from: { epoch: 0, partition: 3, offset: 77, index: 0 } },
    });
  });

  it('contains a single item with its own sequence', () => {
    const made = redrivenRecord({ ...deadLetter, index: 2, events: 1 }, bytes, 0);
    expect(made).toMatchObject({
      record: { sequence: 12, items: [record.items[2]], redriven_from: { offset: 77, index: 2 } },
    });
  });

  it('has no original position when the record was never counted', () => {
    expect(redrivenRecord({ ...deadLetter, events: 0 }, bytes, 0)).toMatchObject({
      record: { items: record.items, redriven_from: null },
    });
  });

  it('is not created from bytes that this version cannot read; the answer says what must happen first', () => {
    const strange = Buffer.from(bytes);
    strange[2] = (strange[2] ?? 0) ^ 1;
    expect(redrivenRecord(deadLetter, strange, 0)).toMatchObject({
      kind: 'unready',
      why: expect.stringContaining('run the version') as string,
    });
    expect(redrivenRecord(deadLetter, Buffer.from('{}'), 0)).toMatchObject({
      kind: 'unready',
      why: expect.stringContaining('discard') as string,
    });
    expect(redrivenRecord({ ...deadLetter, index: 9 }, bytes, 0)).toMatchObject({
      kind: 'unready',
    });
  });

  it('is recognised in the log by its acceptance and its original position', () => {
    const made = redrivenRecord({ ...deadLetter, index: 1, events: 1 }, bytes, 0);
    const other = redrivenRecord({ ...deadLetter, index: 2, events: 1 }, bytes, 0);
    if (made.kind !== 'record' || other.kind !== 'record') throw new Error('not made');
    expect(
      isRedriveOf(rawRecordCodec.decode(rawRecordCodec.encode(made.record)), made.record),
    ).toBe(true);
    expect(isRedriveOf(other.record, made.record)).toBe(false);
    expect(isRedriveOf(record, made.record)).toBe(false);
  });
});
