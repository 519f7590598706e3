import { describe, expect, it } from 'vitest';
import { deadLetterCodec, eventRowCodec, rowBatchCodec } from '../../schemas/codec.ts';
import { decodeRecord, splitRows } from './decode.ts';
import { headOf, messageOf, PARTITION, rowAt, rowBatchOf } from './testing/row-records.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';

const ofAnotherSubject = Buffer.concat([
  Buffer.of(0xc3, 1),
  Buffer.from(deadLetterCodec.fingerprint, 'hex').reverse(),
  Buffer.alloc(30),
]);
const encode = (fields: Partial<ReturnType<typeof headOf>>, offsets: readonly number[]) =>
  rowBatchCodec.encode({
    ...headOf(1, 1),
    ...fields,
    rows: offsets.map((offset) => rowAt(offset)),
  });

describe('decodeRecord', () => {
  it('summarises a row batch without decoding its rows', () => {
    const value = rowBatchOf(4, 6);
    expect(decodeRecord(messageOf(value)).summary).toEqual({
      kind: 'rows',
      offset: 0,
      bytes: value.length,
      fingerprint: rowBatchCodec.fingerprint,
      first: { epoch: 0, offset: 4, index: 0 },
      last: { epoch: 0, offset: 6, index: 0 },
      rows: 3,
    });
  });

  it.each([
    ['no value', null, 'not_single_object'],
    ['text', Buffer.from('hello'), 'not_single_object'],
    ['a record of another subject', ofAnotherSubject, 'other_schema'],
    ['a row batch that ends early', rowBatchOf(1, 1).subarray(0, 12), 'broken_datum'],
    [
      'a row batch of another partition',
      encode({ partition: PARTITION + 1 }, [1]),
      'wrong_partition',
    ],
    ['a row batch that ends before it begins', encode({ first_offset: 5 }, [1]), 'broken_run'],
  ])('returns %s as unreadable, with the reason', (_, value, reason) => {
    const record = decodeRecord(messageOf(value));
    expect(record.summary.kind).toBe('unreadable');
    expect(record.failure?.reason).toBe(reason);
  });

  it('returns a row batch without rows, of which all were erased, as nothing to store', () => {
    const record = decodeRecord(messageOf(encode({}, [])));
    expect(record).toMatchObject({ summary: { kind: 'rows', rows: 0 }, rowBatch: { count: 0 } });
  });
});

describe('splitRows', () => {
  const datums = Buffer.concat(
    [1, 2].map((offset) =>
      eventRowCodec.type.toBuffer(rowAt(offset, { account_id: 9, timestamp: 77 })),
    ),
  );

  it('returns each row with its bytes', () => {
    const rows = splitRows({ version: NEWEST_ROW_VERSION, count: 2, rows: datums }) ?? [];
    expect(rows).toMatchObject(
      [1, 2].map((offset) => ({
        position: { epoch: 0, offset, index: 0 },
        account_id: 9,
        event: 'خرید',
        timestamp: 77,
        message_id: `m${offset}`,
      })),
    );
    expect(Buffer.concat(rows.map(({ datum }) => datum))).toEqual(datums);
  });

  it.each([
    ['there are too few bytes', datums.subarray(0, -3), 2],
    ['there are too many bytes', datums, 1],
    ['the bytes are no rows', Buffer.alloc(300, 0xff), 2],
  ])('returns undefined when %s', (_, bytes, count) => {
    expect(splitRows({ version: NEWEST_ROW_VERSION, count, rows: bytes })).toBeUndefined();
  });
});
