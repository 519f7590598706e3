import { describe, expect, it } from 'vitest';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { rowVersion } from '../../schemas/row-versions.ts';
import { decodeRecord } from './decode-record.ts';
import { sampleEvent, sampleMessage, sampleRecord } from '../testing/raw-records.ts';

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
