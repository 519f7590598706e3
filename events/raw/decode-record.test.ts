import { describe, expect, it } from 'vitest';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { rowVersion } from '../../schemas/row-versions.ts';
import { decodeRecord, decodeRecords } from './decode-record.ts';
import { sampleEvent, sampleMessage, sampleRecord, sampleBatch } from '../testing/raw-records.ts';

const two = sampleRecord([sampleEvent('a'), sampleEvent('b')]);

const rowBatch = Buffer.concat([rowVersion(1).header, Buffer.alloc(40)]);

describe('decoding a raw record', () => {
  it('returns a single event as the only envelope', () => {
    const result = decodeRecord(sampleMessage(sampleRecord([sampleEvent('a')]), { offset: 7 }));
    expect(result).toMatchObject({
      state: 'decoded',
      source: { offset: 7 },
      envelopes: [{ event: 'product_viewed', message_id: 'a' }],
    });
    expect(result).toHaveProperty('batchContext', undefined);
  });

  it('returns the events and the context of a batch', () => {
    const result = decodeRecord(sampleMessage(two, { offset: 7 }));
    expect(result).toMatchObject({
      state: 'decoded',
      envelopes: [{ message_id: 'a' }, { message_id: 'b' }],
      batchContext: { locale: 'fa-IR' },
    });
  });

  it.each([
    ['empty_record', null, 0],
    ['not_single_object', Buffer.from('{"event":"x"}'), 0],
    ['other_schema', rowBatch, 0],
    ['broken_datum', rawRecordCodec.encode(two).subarray(0, 40), 0],
    ['body_not_json', rawRecordCodec.encode({ ...two, body: Buffer.from('{"batch":[') }), 2],
    ['body_not_event', rawRecordCodec.encode({ ...two, body: Buffer.from('[1]') }), 2],
    ['body_not_event', rawRecordCodec.encode({ ...two, body: Buffer.from('{"batch":{}}') }), 2],
  ])('is undecodable with the reason %s', (reason, value, events) => {
    const source = { ...sampleMessage(two, { offset: 7 }), value };
    expect(decodeRecord(source)).toMatchObject({
      state: 'undecodable',
      source: { offset: 7 },
      failure: { reason, events, index: null },
    });
  });

  it('waits for a newer release: an unknown schema is thrown and is no dead letter', () => {
    const value = Buffer.concat([Buffer.of(0xc3, 1), Buffer.alloc(30)]);
    const decode = () => decodeRecord({ ...sampleMessage(two, { offset: 7 }), value });
    expect(decode).toThrow('a newer release wrote the record');
  });

  it('does not quote a body that is not JSON', () => {
    for (const body of [
      'secret person',
      '{"a": secret person}',
      '{"name":"secret person" x}',
      '"secret',
    ]) {
      const result = decodeRecord(
        sampleMessage({ ...two, body: Buffer.from(body) }, { offset: 7 }),
      );
      expect(result.state === 'undecodable' && result.failure.detail).not.toContain('secret');
    }
  });
});

describe('decoding a batch', () => {
  const one = sampleRecord([sampleEvent('c')], { account_id: 2 });
  const decode = (value: Buffer) =>
    decodeRecords(sampleMessage(value, { offset: 7 })).map((result) => ({
      ...(result.state === 'decoded'
        ? { ids: result.record.items.map(({ message_id }) => message_id) }
        : { failure: result.failure }),
      ...{ offset: result.source.offset, first: result.source.inBatch?.firstIndex },
    }));

  it('returns its records in order, with the numbers of their first items', () => {
    expect(decode(sampleBatch([two, one, two]))).toEqual([
      { ids: ['a', 'b'], offset: 7, first: 0 },
      { ids: ['c'], offset: 7, first: 2 },
      { ids: ['a', 'b'], offset: 7, first: 3 },
    ]);
    expect(decode(rawRecordCodec.encode(two))).toEqual([
      { ids: ['a', 'b'], offset: 7, first: undefined },
    ]);
  });

  it('leaves the others as they are when one of them is undecodable, and names its items', () => {
    const damaged = { items: 3, value: Buffer.from('no record') };
    const noJson = { ...two, body: Buffer.from('{') };
    expect(decode(sampleBatch([one, damaged, noJson, two]))).toMatchObject([
      { ids: ['c'] },
      { failure: { reason: 'not_single_object', index: 1, indexes: [1, 2, 3], events: 0 } },
      { failure: { reason: 'body_not_json', index: 4, indexes: [4, 5], events: 2 } },
      { ids: ['a', 'b'], first: 6 },
    ]);
  });

  it('refuses a record with another number of items than the batch says: numbers would repeat', () => {
    const wrong = { items: 1, value: rawRecordCodec.encode(two) };
    expect(decode(sampleBatch([wrong, one]))).toMatchObject([
      { failure: { reason: 'broken_datum', index: 0, indexes: [0] } },
      { ids: ['c'], first: 1 },
    ]);
  });

  it('is undecodable as a whole when the batch is damaged', () => {
    expect(decode(sampleBatch([two, one]).subarray(0, 60))).toMatchObject([
      { failure: { reason: 'broken_datum', index: null, events: 0 }, first: undefined },
    ]);
  });

  it('waits for a newer release when one of its records names an unknown schema', () => {
    const value = Buffer.concat([Buffer.of(0xc3, 1), Buffer.alloc(30)]);
    expect(() => decode(sampleBatch([two, { items: 1, value }]))).toThrow('a newer release wrote');
  });
});
