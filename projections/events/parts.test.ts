import avsc from 'avsc';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { deadLetterCodec, eventRowCodec, rowBatchCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';
import { assemble } from './batch.ts';
import { classify } from './classify.ts';
import { COLUMNS, container } from './container.ts';
import { readRecord } from './entry.ts';
import { lookups } from './read-back.ts';
import { splitRows, type Row } from './rows.ts';

const EMPTY = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;
const rowAt = (offset: number, more: Partial<EventRow> = {}): EventRow => ({
  ...EMPTY,
  _partition: 2,
  _offset: offset,
  event: 'خرید',
  message_id: `m${offset}`,
  ...more,
});
const head = (first: number, last: number) => ({
  epoch: 0,
  partition: 2,
  first_offset: first,
  first_index: 0,
  last_offset: last,
  last_index: 0,
  appended_at: 5,
});
const message = (value: Buffer | null, offset = 0): ConsumedMessage => ({
  topic: 't',
  partition: 2,
  offset,
  timestamp: 1,
  key: null,
  value,
  size: value?.length ?? 0,
});
const runOf = (first: number, last: number) =>
  rowBatchCodec.encode({
    ...head(first, last),
    rows: Array.from({ length: last - first + 1 }, (_, at) => rowAt(first + at)),
  });

describe('container', () => {
  it('is an Avro file that a strict reader takes, the same bytes for the same token', async () => {
    const datums = [rowAt(1), rowAt(2, { properties: { a: 'b' } })].map((row) =>
      eventRowCodec.type.toBuffer(row),
    );
    const bytes = container({ token: 't', count: 2, datums });
    expect(container({ token: 't', count: 2, datums })).toEqual(bytes);
    expect(container({ token: 'u', count: 2, datums })).not.toEqual(bytes);
    const decoder = new avsc.streams.BlockDecoder();
    decoder.end(bytes);
    const offsets: number[] = [];
    for await (const row of decoder) offsets.push((row as EventRow)._offset);
    expect(offsets).toEqual([1, 2]);
  });

  it('names columns that the table has, and every one that it does not make itself', () => {
    const ddl = readFileSync(join(import.meta.dirname, 'ddl/0001_events.sql'), 'utf8');
    const columns = [...ddl.matchAll(/^ {2}([a-z_]+) (?!.*MATERIALIZED)\w.*,?$/gm)].map(
      ([, name]) => name,
    );
    expect(COLUMNS).toEqual(columns);
  });
});

describe('readRecord', () => {
  it('reads the head of a run', () => {
    const value = runOf(4, 6);
    expect(readRecord(message(value)).entry).toEqual({
      kind: 'run',
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
    ['a record of another subject', deadLetterHeader(), 'unknown_schema'],
    ['a run that ends early', runOf(1, 1).subarray(0, 12), 'broken_datum'],
    [
      'a run of another partition',
      rowBatchCodec.encode({ ...head(1, 1), partition: 3, rows: [rowAt(1)] }),
      'wrong_partition',
    ],
    [
      'a run that ends before it begins',
      rowBatchCodec.encode({ ...head(5, 1), rows: [rowAt(1)] }),
      'broken_run',
    ],
    ['a run without rows', rowBatchCodec.encode({ ...head(1, 1), rows: [] }), 'broken_run'],
  ])('finds the flaw of %s', (_, value, reason) => {
    const record = readRecord(message(value));
    expect(record.entry.kind).toBe('unreadable');
    expect(record.flaw?.reason).toBe(reason);
  });
});

function deadLetterHeader(): Buffer {
  return Buffer.concat([
    Buffer.of(0xc3, 1),
    Buffer.from(deadLetterCodec.fingerprint, 'hex').reverse(),
    Buffer.alloc(30),
  ]);
}

describe('assemble', () => {
  it('takes whole records as they are and cuts the ones that were taken in part', () => {
    const records = [readRecord(message(runOf(1, 3), 7)), readRecord(message(runOf(4, 5), 8))];
    const pieces = [
      { offset: 7, above: { epoch: 0, offset: 1, index: 0 } },
      { offset: 8, above: undefined },
    ];
    const batch = assemble({ token: 't', partition: 2, pieces, records });
    expect(batch.count).toBe(4);
    expect(batch.datums[1]).toBe(records[1]?.run?.rows);
    expect(batch.rows().map(({ mark }) => mark.offset)).toEqual([2, 3, 4, 5]);
    const [first] = batch.rows();
    expect(first && batch.origin(first).index).toBe(1);
  });
});

describe('splitRows', () => {
  const datums = Buffer.concat(
    [1, 2].map((offset) =>
      eventRowCodec.type.toBuffer(rowAt(offset, { account_id: 9, timestamp: 77 })),
    ),
  );

  it('gives each row with its bytes', () => {
    const rows = splitRows(datums, 2);
    expect(
      rows?.map(({ mark, account_id, event, timestamp, message_id }) => [
        mark.offset,
        account_id,
        event,
        timestamp,
        message_id,
      ]),
    ).toEqual([
      [1, 9, 'خرید', 77, 'm1'],
      [2, 9, 'خرید', 77, 'm2'],
    ]);
    expect(Buffer.concat(rows?.map(({ datum }) => datum) ?? [])).toEqual(datums);
  });

  it.each([
    ['too few bytes', datums.subarray(0, -3), 2],
    ['too many bytes', datums, 1],
    ['bytes that are no rows', Buffer.alloc(300, 0xff), 2],
  ])('answers undefined for %s', (_, bytes, count) => {
    expect(splitRows(bytes, count)).toBeUndefined();
  });
});

describe('lookups', () => {
  const row = (more: Partial<Row>): Row => ({
    mark: { epoch: 0, offset: 1, index: 0 },
    account_id: 1,
    event: 'x',
    message_id: '',
    timestamp: Date.UTC(2026, 10, 21, 23, 59),
    datum: Buffer.alloc(0),
    ...more,
  });

  it('asks by account, event and day, and escapes what clients named', () => {
    const [sql] = lookups({ table: 'events', partition: 2 }, [row({ event: "it's \\ 'x" })]);
    expect(sql).toContain("IN ((1, 'it\\'s \\\\ \\'x', '2026-11-21'))");
    expect(sql).toContain('_partition = 2 AND _offset BETWEEN 1 AND 1');
  });

  it('asks in several queries when there are many keys, and without the day for times that a day cannot hold', () => {
    const many = Array.from({ length: 1200 }, (_, n) => row({ event: `e${n}` }));
    expect(lookups({ table: 'events', partition: 2 }, many)).toHaveLength(3);
    expect(lookups({ table: 'events', partition: 2 }, [row({ timestamp: -1 })])[0]).toContain(
      "(account_id, event) IN ((1, 'x'))",
    );
  });
});

describe('classify', () => {
  const error = (code: string, text = 'x') => Object.assign(new Error(text), { code });
  it.each([
    [error('469'), 'refused'],
    [error('1001', 'avro::Exception, e.what() = EOF reached'), 'refused'],
    [error('1001', 'std::exception: disk'), 'uncertain'],
    [error('252', 'too many parts'), 'uncertain'],
    [error('241', 'memory limit'), 'uncertain'],
    [error('60', 'unknown table'), 'uncertain'],
    [error('ECONNREFUSED'), 'unsent'],
    [error('ECONNRESET'), 'uncertain'],
    [new Error('Timeout error.'), 'uncertain'],
    ['text', 'uncertain'],
  ])('%s is %s', (problem, kind) => {
    expect(classify(problem).kind).toBe(kind);
  });
});
