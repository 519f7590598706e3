import avsc from 'avsc';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rawRecordCodec } from './codec.ts';
import { encodeRawRecord, rawRecordEncoder } from './raw-record-encoder.ts';
import type { RawRecord } from './records.ts';
import { anyRawRecord } from './testing/any-raw-record.ts';

it('a raw record is encoded as the codec encodes it', () => {
  fc.assert(
    fc.property(anyRawRecord, (record) => {
      const expected = rawRecordCodec.encode(record).toString('hex');
      expect(encodeRawRecord(record).toString('hex')).toBe(expected);
    }),
    { numRuns: 400 },
  );
});

it('the body is written in pieces, however large it is', () => {
  const [record] = fc.sample(anyRawRecord, 1);
  const bytes = Buffer.alloc(700_000, 'ab');
  const body = {
    length: bytes.length,
    writeTo(writer: { raw(from: Buffer, start: number, end: number): void }) {
      for (let at = 0; at < bytes.length; at += 1000) writer.raw(bytes, at, at + 1000);
    },
  };
  if (!record) throw new Error('no record');
  const expected = rawRecordCodec.encode({ ...record, body: bytes });
  expect(encodeRawRecord({ ...record, body }).equals(expected)).toBe(true);
  expect(encodeRawRecord(record).equals(rawRecordCodec.encode(record))).toBe(true);
});

it('a body of another length than announced is refused', () => {
  const [record] = fc.sample(anyRawRecord, 1);
  if (!record) throw new Error('no record');
  const body = { length: 5, writeTo: () => undefined };
  expect(() => encodeRawRecord({ ...record, body })).toThrow('0 bytes were written instead of 5');
});

// A record of a newer version without its new field would be read by nobody.
it('a version with another field is encoded by its codec', () => {
  const schema = rawRecordCodec.type.schema() as unknown as { fields: object[] };
  const added = { name: 'added', type: 'string', default: 'x' };
  const type = avsc.Type.forSchema({
    ...schema,
    fields: [...schema.fields, added],
  } as unknown as avsc.Schema);
  const encoded: RawRecord[] = [];
  const encode = rawRecordEncoder({
    type,
    encode(record) {
      encoded.push(record);
      return Buffer.of(1);
    },
  });
  const [record] = fc.sample(anyRawRecord, 1);
  if (!record) throw new Error('no record');
  const { body } = record;
  const pieces = {
    length: body.length,
    writeTo: (to: { raw(from: Buffer, start: number, end: number): void }) => {
      to.raw(body, 0, body.length);
    },
  };
  expect(encode({ ...record, body: pieces })).toEqual(Buffer.of(1));
  expect(encoded).toEqual([record]);
});
