import avsc from 'avsc';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  allSchemas,
  decodeIfReadable,
  eventRowCodec,
  fingerprintOf,
  hasUnknownSchema,
  rowBatchCodec,
  rawRecordCodec,
  singleObjectHeader,
  UnreadableRecord,
} from './codec.ts';
import { fingerprint } from './fingerprint.ts';
import type { EventRow, RawRecord } from './records.ts';
import { joinRowBatch, sliceRowBatch } from './row-batch.ts';
import { readZigzag, writeZigzag } from './varint.ts';

describe('fingerprint', () => {
  it('is CRC-64-AVRO: it matches the test vectors of the Avro project', () => {
    expect(fingerprint('"null"')).toBe('63dd24e7cc258f8a');
    expect(fingerprint('"int"')).toBe('7275d51a3f395c8f');
    expect(fingerprint('"string"')).toBe('8f014872634503c7');
  });
});

describe('schemas', () => {
  it('can read the records of every older version of the same subject', () => {
    for (const schema of allSchemas()) {
      for (const older of allSchemas().filter(
        (other) => other.subject === schema.subject && other.version < schema.version,
      )) {
        expect(() => schema.type.createResolver(older.type)).not.toThrow();
      }
    }
  });

  it('have distinct fingerprints', () => {
    const all = allSchemas().map((schema) => fingerprintOf(schema.type));
    expect(new Set(all).size).toBe(all.length);
  });

  it('have valid Avro names, which a strict reader accepts', () => {
    for (const schema of allSchemas())
      expect(avsc.Type.forSchema(schema.type.schema())).toBeDefined();
  });
});

const emptyRow = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;

describe('single-object encoding', () => {
  const raw: RawRecord = {
    account_id: 1,
    app_id: 2,
    write_key_id: 3,
    received_at: 1_790_000_000_000,
    source: 'sdk',
    path: '/v1/track',
    ip: '127.0.0.1',
    user_agent: 'سلام',
    origin: '',
    trace: '0123456789abcdef',
    gateway: 'g',
    sequence: 9,
    shape: 'single',
    body: Buffer.from('{"event":"x"}'),
    items: [
      {
        at: 0,
        index: 0,
        type: 'track',
        message_id: 'm',
        generated: false,
        dedupe_id: null,
        timestamp: 1,
      },
    ],
    redriven_from: null,
    delivery: null,
  };

  it('decodes to the record that was encoded, also when it exceeds the scratch buffer', () => {
    for (const body of [raw.body, Buffer.alloc(3_000_000, 'x')]) {
      const back = rawRecordCodec.decode(rawRecordCodec.encode({ ...raw, body }));
      expect(Buffer.compare(back.body, body)).toBe(0);
      expect({ ...back, items: back.items.map((item) => ({ ...item })), body }).toEqual({
        ...raw,
        body,
      });
    }
  });

  it('reads a raw record of version 1, and preserves the bytes of a webhook delivery', () => {
    const v1 = allSchemas().find(({ id }) => id === 'raw-record.v1');
    if (!v1) throw new Error('no raw-record.v1');
    const older = { ...raw, delivery: undefined };
    const back = rawRecordCodec.decode(
      Buffer.concat([singleObjectHeader(v1.type), v1.type.toBuffer(older)]),
    );
    expect(back).toMatchObject({ path: '/v1/track', sequence: 9, delivery: null });
    const delivery = {
      source: 'hosted_storefront',
      topic: 'orders/create',
      body: Buffer.from('{"a": 1}'),
    };
    expect(
      rawRecordCodec.decode(rawRecordCodec.encode({ ...raw, delivery })).delivery,
    ).toMatchObject(delivery);
  });

  it.each([
    ['not_single_object', Buffer.from('{"event":"x"}')],
    ['unknown_schema', Buffer.concat([Buffer.of(0xc3, 1), Buffer.alloc(20)])],
    ['other_schema', singleObjectHeader(rowBatchCodec.type)],
    ['broken_datum', rawRecordCodec.encode(raw).subarray(0, 20)],
  ])('rejects invalid bytes with the code %s', (code, bytes) => {
    let caught: unknown;
    try {
      rawRecordCodec.decode(bytes);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(UnreadableRecord);
    expect((caught as UnreadableRecord).code).toBe(code);
  });
});

describe('a record of a schema that this release does not have', () => {
  const later = Buffer.concat([Buffer.of(0xc3, 1), Buffer.alloc(20, 0xee)]);

  it('is not confused with damaged records, which readers may skip', () => {
    expect(hasUnknownSchema(later)).toBe(true);
    expect(() => decodeIfReadable(rowBatchCodec, later)).toThrow('a newer release wrote');
    for (const damaged of [Buffer.from('{}'), singleObjectHeader(rowBatchCodec.type), null]) {
      expect(hasUnknownSchema(damaged)).toBe(false);
      expect(decodeIfReadable(rowBatchCodec, damaged)).toBeUndefined();
    }
  });

  it('is found among records that are known, in any order', () => {
    const known = allSchemas().map(({ type }) => singleObjectHeader(type));
    for (const one of [...known, ...known]) {
      expect(hasUnknownSchema(one)).toBe(false);
      expect(hasUnknownSchema(later)).toBe(true);
    }
  });
});

describe('a row batch', () => {
  const head = {
    epoch: 0,
    partition: 3,
    first_offset: 2 ** 40,
    first_index: 0,
    last_offset: 2 ** 40 + 5,
    last_index: 499,
    appended_at: 1_790_000_000_000,
  };

  it('is sliced without decoding its rows, and joined to the same bytes that the codec writes', () => {
    const rows = [1, 2, 3].map((index) => ({
      ...emptyRow,
      _index: index,
      event: 'خرید',
      properties: { a: 'b' },
    }));
    const whole = rowBatchCodec.encode({ ...head, rows });
    const batch = sliceRowBatch(whole);
    expect(batch?.head).toEqual(head);
    expect(batch?.count).toBe(3);
    expect(batch && Buffer.compare(joinRowBatch(batch), whole)).toBe(0);
    expect(
      batch &&
        Buffer.compare(
          batch.rows,
          Buffer.concat(rows.map((row) => eventRowCodec.type.toBuffer(row))),
        ),
    ).toBe(0);
  });
});

describe('a zigzag varint', () => {
  it('decodes to the value that was encoded', () => {
    fc.assert(
      fc.property(fc.integer({ min: -(2 ** 51), max: 2 ** 51 }), (value) => {
        const bytes = writeZigzag(value);
        expect(readZigzag(bytes, 0)).toEqual({ value, end: bytes.length });
      }),
    );
  });
});
