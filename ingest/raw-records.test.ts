import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { partitionOf } from '../events/partition.ts';
import { rawRecordCodec } from '../schemas/codec.ts';
import { ClientBody } from './client-body.ts';
import { rawRecords, type EventBytes, type RawRecordsInput } from './raw-records.ts';

function inputOf(
  distinctIds: readonly string[],
  more: Partial<RawRecordsInput> = {},
): RawRecordsInput {
  const items = distinctIds.map((_, index) => `{"n": ${index}}`).join(' , ');
  return {
    request: {
      principal: { accountId: 7, appId: 2, writeKeyId: 3 },
      ...{ source: 'import', path: '/v1/events', shape: 'batch', receivedAt: 5, trace: 't' },
      ...{ ip: '', userAgent: '', origin: '' },
    },
    events: distinctIds.map((distinctId, index) => ({
      ...{ index, distinctId, type: 'track', generated: false, timestamp: index },
      ...{ message_id: `m${index}`, dedupe_id: `d${index}` },
    })),
    bytes: new ClientBody(Buffer.from(`{"context":{"a":1},"events":[${items}]}`), 'events'),
    delivery: null,
    partitions: 3,
    gateway: 'g',
    sequence: 100,
    ...more,
  };
}

function decoded(input: RawRecordsInput) {
  return rawRecords(input).map(({ record, positions }) => ({
    ...record,
    positions,
    raw: rawRecordCodec.decode(record.value),
  }));
}

const bodyOf = (raw: { body: Buffer }) => JSON.parse(raw.body.toString()) as { batch: unknown[] };

describe('raw records of a request', () => {
  it('carry every event once, in the partition of its person, in the order sent, under a sequence number of its own', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 20 }),
        (distinctIds) => {
          const records = decoded(inputOf(distinctIds));
          expect(new Set(records.map(({ partition }) => partition)).size).toBe(records.length);
          const sequences: number[] = [];
          const indexes: number[] = [];
          for (const { partition, positions, events, raw } of records) {
            const own = raw.items.map((item) => item.index);
            expect(bodyOf(raw)).toEqual({ batch: own.map((n) => ({ n })) });
            expect(raw.items.map((item) => item.at)).toEqual(raw.items.map((_, at) => at));
            expect(own).toEqual(own.toSorted((a, b) => a - b));
            expect(positions ?? distinctIds.map((_, at) => at)).toEqual(own);
            for (const index of own)
              expect(
                partitionOf({ accountId: 7, distinctId: distinctIds[index] ?? '', partitions: 3 }),
              ).toBe(partition);
            expect(events).toBe(own.length);
            sequences.push(...raw.items.map((_, at) => raw.sequence + at));
            indexes.push(...own);
          }
          expect(sequences.toSorted((a, b) => a - b)).toEqual(distinctIds.map((_, at) => 100 + at));
          expect(indexes.toSorted((a, b) => a - b)).toEqual(distinctIds.map((_, at) => at));
        },
      ),
    );
  });

  it('carry no key, even when all events are of one person', () => {
    expect(decoded(inputOf(['a', 'a'])).map(({ key }) => key)).toEqual([null]);
  });

  it('keep the dedupe id of each event', () => {
    const [record] = decoded(inputOf(['a', 'a']));
    expect(record?.raw.items.map((item) => item.dedupe_id)).toEqual(['d0', 'd1']);
  });

  it('store the body of an SDK request unchanged when one record carries all its events', () => {
    const body = Buffer.from('{ "batch": [{"n": 0}, "rejected", {"n": 2}] }');
    const [first, , third] = inputOf(['a', 'a', 'a']).events;
    const events = first && third ? [first, third] : [];
    const [record] = decoded(inputOf([], { events, bytes: new ClientBody(body, 'batch') }));
    expect(record?.raw.body).toEqual(body);
    expect(record?.raw.items.map(({ at, index }) => [at, index])).toEqual([
      [0, 0],
      [2, 2],
    ]);
  });

  it('repeat the context and sent_at of an SDK batch in every record', () => {
    const distinctIds = Array.from({ length: 20 }, (_, at) => `u${at}`);
    const items = distinctIds.map((_, n) => ({ n }));
    const body = JSON.stringify({ sent_at: 's', batch: items, context: { a: 1 } });
    const bytes = new ClientBody(Buffer.from(body), 'batch');
    const records = decoded(inputOf(distinctIds, { bytes }));
    expect(records.length).toBeGreaterThan(1);
    for (const { raw } of records)
      expect(bodyOf(raw)).toEqual({
        context: { a: 1 },
        sent_at: 's',
        batch: raw.items.map(({ index }) => ({ n: index })),
      });
  });

  it('carry the bytes of a webhook delivery in the first record only', () => {
    const bytes: EventBytes = { whole: undefined, batchOf: () => Buffer.from('{}') };
    const delivery = { source: 's', topic: 't', body: Buffer.from('sent') };
    const distinctIds = Array.from({ length: 20 }, (_, at) => `u${at}`);
    const records = decoded(inputOf(distinctIds, { bytes, delivery }));
    expect(records.length).toBeGreaterThan(1);
    expect(records.map(({ raw }) => raw.delivery?.body.toString())).toEqual(
      records.map((_, at) => (at === 0 ? 'sent' : undefined)),
    );
  });

  it('store no message id for an event that has none, and do not call it generated', () => {
    const [event] = inputOf(['a']).events;
    const events = event ? [{ ...event, message_id: '', generated: true }] : [];
    const [record] = decoded(inputOf(['a'], { events }));
    expect(record?.raw.items).toMatchObject([{ message_id: '', generated: false }]);
  });

  /** Bytes of all records of a batch of 500 people, for each byte of its body and its head. */
  function amplification(
    context: string,
    partitions: number,
    { padding = '', sentAt = '"s"' }: { padding?: string; sentAt?: string } = {},
  ): number {
    const people = Array.from({ length: 500 }, (_, at) => `u${at}`);
    const items = people.map((id) => `{"type":"page","user_id":"${id}"${padding}}`);
    const body = Buffer.from(
      `{"context":${context},"sent_at":${sentAt},"batch":[${items.join(',')}]}`,
    );
    const userAgent = 'Mozilla/5.0 '.repeat(300);
    const origin = 'o'.repeat(4000);
    const request = { ...inputOf([]).request, userAgent, origin };
    const bytes = new ClientBody(body, 'batch');
    const records = rawRecords(inputOf(people, { bytes, partitions, request }));
    expect(records.length).toBe(partitions);
    const written = records.reduce((sum, { record }) => sum + record.value.length, 0);
    return written / (body.length + userAgent.length + origin.length + 150);
  }

  const MIB = 1024 * 1024;
  it.each([
    ['a long text', JSON.stringify({ screen: 'x'.repeat(4.9 * MIB) })],
    ['a known field beyond its bound', JSON.stringify({ page: { url: 'x'.repeat(4.9 * MIB) } })],
    [
      'many keys',
      JSON.stringify(Object.fromEntries(Array.from({ length: 90_000 }, (_, at) => [at, at]))),
    ],
    ['many values', `{"device":[${'{},'.repeat(500_000)}{}]}`],
    ['whitespace', `{"locale":${' '.repeat(MIB)}"fa"}`],
    ['escapes', `{"locale":"${'\\u0651'.repeat(100_000)}"}`],
    ['repeated keys', `{${'"page":{"url":"x"},'.repeat(50_000)}"locale":"fa"}`],
    ['100 KB', JSON.stringify({ screen: 'x'.repeat(100_000) })],
    ['20 KB', JSON.stringify({ screen: 'x'.repeat(20_000) })],
    ['little text', JSON.stringify({ screen: 'x'.repeat(700), locale: 'fa' })],
  ])('take at most 3 bytes for each byte received, when the context is %s', (_, context) => {
    for (const partitions of [24, 48]) {
      expect(
        amplification(context, partitions, { padding: ',"message_id":"0123456789"' }),
      ).toBeLessThan(3);
      expect(amplification(context, partitions)).toBeLessThan(3);
    }
  });

  it.each([
    ['whitespace before it', `${' '.repeat(4 * MIB)}"2026-01-01T00:00:00Z"`],
    ['a long fraction', `"2026-01-01T00:00:00.${'0'.repeat(4 * MIB)}Z"`],
    ['escapes', `"${'\\u0032'.repeat(64)}"`],
    ['null', 'null'],
  ])('take at most 3 bytes for each byte received, when sent_at is %s', (_, sentAt) => {
    for (const partitions of [24, 48])
      expect(amplification('{}', partitions, { sentAt })).toBeLessThan(3);
  });

  it('repeat nothing of the head that is not stored with each event', () => {
    const distinctIds = Array.from({ length: 20 }, (_, at) => `u${at}`);
    const request = { ...inputOf([]).request, origin: 'https://shop.example', userAgent: 'ua' };
    const records = decoded(inputOf(distinctIds, { request }));
    expect(records.length).toBeGreaterThan(1);
    expect(records.map(({ raw }) => raw.origin)).toEqual(
      records.map((_, at) => (at === 0 ? 'https://shop.example' : '')),
    );
    for (const { raw } of records) expect(raw.user_agent).toBe('ua');
  });

  it('keep what a large context stores', () => {
    const context = {
      locale: 'fa',
      page: { url: `https://x/${'y'.repeat(3000)}` },
      junk: 'j'.repeat(9000),
    };
    const items = ['a', 'b', 'c', 'd', 'e'].map((user_id) => ({ user_id }));
    const body = Buffer.from(JSON.stringify({ context, batch: items }));
    const records = decoded(
      inputOf(['a', 'b', 'c', 'd', 'e'], { bytes: new ClientBody(body, 'batch') }),
    );
    expect(records.length).toBeGreaterThan(1);
    for (const { raw } of records)
      expect(bodyOf(raw)).toMatchObject({
        context: { locale: 'fa', page: { url: context.page.url.slice(0, 2048) } },
      });
  });
});
