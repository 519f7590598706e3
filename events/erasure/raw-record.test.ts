import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { recordsInBatch } from '../../schemas/raw-batch.ts';
import type { RawRecord } from '../../schemas/records.ts';
import { decideItem, wholeRows } from '../raw/decide.ts';
import { decodeRecord } from '../raw/decode-record.ts';
import { sampleEvent, sampleMessage, sampleRecord, sampleBatch } from '../testing/raw-records.ts';
import { ContextReader } from '../normalise.ts';
import { UserAgentCache } from '../user-agent.ts';
import { ErasedPeople, idHash } from './erased-people.ts';
import { elementSpans } from './json-spans.ts';
import { eraseFromRaw } from './raw-record.ts';

const KEY = Buffer.alloc(32, 7);
const erasedPeople = (names: readonly string[], offset = 100) =>
  new ErasedPeople(
    [
      {
        ...{ id: 1, accountId: 1, keyId: 3, requestedAt: 0, addresses: [] },
        names: names.map((name) => idHash(KEY, 1, name).toString('hex')),
        cuts: [{ partition: 0, epoch: 0, offset }],
      },
    ],
    new Map([[3, KEY]]),
  );
const erased = erasedPeople(['سارا', 'anon-1']);

const erase = (record: RawRecord, offset = 7, from = erased) => {
  const value = rawRecordCodec.encode(record);
  const left = eraseFromRaw({ value, epoch: 0, partition: 0, offset }, from);
  return left && rawRecordCodec.decode(left);
};

const theirs = sampleEvent('b', { user_id: 'user-2', properties: { n: 1.5 } });
const own = sampleEvent('a', { user_id: 'سارا', traits: { email: 'sara@example.ir' } });
const mixed = sampleRecord([
  own,
  theirs,
  sampleEvent('c', { user_id: '', anonymous_id: 'anon-1' }),
]);

describe('a raw record with events of an erased person', () => {
  it('keeps the positions of all events and the bytes of other people', () => {
    const left = erase(mixed);
    expect(left?.items.map(({ type }) => type)).toEqual(['erased', 'track', 'erased']);
    expect(left?.items[1]).toEqual(mixed.items[1]);
    const [, span] = elementSpans(left?.body ?? Buffer.of(), 'batch');
    expect(left?.body.toString('utf8', span?.from, span?.to)).toBe(JSON.stringify(theirs));
    expect(left?.body.toString()).toMatch(/"batch":\[null,\{.*\},null\]\}$/);
  });

  it('is normalised to nothing where the person was, and as before elsewhere', () => {
    const makeRow = wholeRows(new ContextReader(new UserAgentCache(10)));
    const decide = (record: RawRecord) => {
      const decoded = decodeRecord(sampleMessage(record, { offset: 7 }));
      if (decoded.state !== 'decoded') throw new Error('cannot be decoded');
      return record.items.map((_, index) => {
        const position = { epoch: 0, partition: 0, offset: 7, index };
        const resolution = { verdict: 'first' } as const;
        return decideItem({ decoded, index, position, acceptance: 0, resolution }, makeRow);
      });
    };
    const left = decide(erase(mixed) ?? mixed);
    expect([left[0], left[2]]).toEqual([{ kind: 'erased' }, { kind: 'erased' }]);
    expect(left[1]).toEqual(decide(mixed)[1]);
  });

  it('says nothing about the connection when it holds nobody else', () => {
    const left = erase(sampleRecord([own]));
    expect(left).toMatchObject({ ip: '', user_agent: '', trace: '', origin: '' });
    expect(left?.body.toString()).toBe('{}');
    expect(erase(sampleRecord([own, own]))?.body.toString()).toBe('{"batch":[null,null]}');
  });

  it('loses rejected events of the person, which are in the body only', () => {
    const record = sampleRecord([theirs, own]);
    const left = erase({ ...record, items: record.items.slice(0, 1) });
    expect(left?.body.includes('sara@example.ir')).toBe(false);
    expect(left?.items).toEqual(record.items.slice(0, 1));
  });

  it('is left as it is behind the cut, in another account, and without the person', () => {
    expect(erase(mixed, 100)).toBeUndefined();
    expect(erase({ ...mixed, account_id: 2 })).toBeUndefined();
    expect(erase(sampleRecord([theirs]))).toBeUndefined();
  });

  it('is erased behind the cut when it was redriven from before it', () => {
    const redriven_from = { epoch: 0, partition: 0, offset: 5, index: 0 };
    expect(erase({ ...mixed, redriven_from }, 200)?.items[0]?.type).toBe('erased');
  });

  it('loses a delivery that names the person, also when their events are elsewhere', () => {
    const delivery = { source: 's', topic: 't', body: Buffer.from('{"customer":{"id":"anon-1"}}') };
    const left = erase(sampleRecord([theirs], { delivery }));
    expect(left?.delivery?.body).toHaveLength(0);
    expect(left?.body).toEqual(sampleRecord([theirs]).body);
  });

  it('is emptied when it cannot be decoded and holds a name', () => {
    const broken = Buffer.from('no record, but "anon-1" is in it');
    const place = { epoch: 0, partition: 0, offset: 7 };
    expect(eraseFromRaw({ value: broken, ...place }, erased)).toHaveLength(0);
    const other = Buffer.from('"anon-2"');
    expect(eraseFromRaw({ value: other, ...place }, erased)).toBeUndefined();
  });

  it('keeps its items, erased, when only its body cannot be parsed', () => {
    const body = Buffer.from('{"batch":[{"user_id":"anon-1","traits":{"email":"a@b"');
    const left = erase({ ...mixed, body });
    expect(left?.items.map(({ type }) => type)).toEqual(['erased', 'erased', 'erased']);
    expect(left?.body.toString()).toBe('{"batch":[null,null,null]}');
  });

  it('in a batch leaves the other records, and the numbers of all items, as they are', () => {
    const place = { epoch: 0, partition: 0, offset: 7 };
    const foreign = sampleRecord([own], { account_id: 2 });
    const damaged = { items: 4, value: Buffer.from('no record, but "anon-1" is in it') };
    const value = sampleBatch([sampleRecord([theirs]), mixed, foreign, damaged]);
    const left = recordsInBatch(eraseFromRaw({ value, ...place }, erased) ?? Buffer.of()) ?? [];
    const before = recordsInBatch(value) ?? [];
    expect(left.map(({ firstIndex, items }) => [firstIndex, items])).toEqual(
      before.map(({ firstIndex, items }) => [firstIndex, items]),
    );
    expect([left[0]?.value, left[2]?.value]).toEqual([before[0]?.value, before[2]?.value]);
    expect(left[1]?.value).toEqual(rawRecordCodec.encode(erase(mixed) ?? mixed));
    expect(left[3]?.value).toHaveLength(0);
    expect(eraseFromRaw({ value: sampleBatch([foreign]), ...place }, erased)).toBeUndefined();
    expect(eraseFromRaw({ value: value.subarray(0, -1), ...place }, erased)).toHaveLength(0);
  });

  it('is the same whether it is erased once or twice', () => {
    const once = erase(mixed);
    expect(once && erase(once)).toBeUndefined();
  });
});

it('Of a batch of any form, only the elements of the person change', () => {
  const space = fc.constantFrom('', ' ', '\n\t');
  const person = fc.constantFrom('سارا', 'user-2', 'anon-1', 'user "3"');
  const event = fc.record({ user_id: person, text: fc.string(), more: fc.jsonValue() });
  fc.assert(
    fc.property(
      fc.array(event, { minLength: 1, maxLength: 6 }),
      space,
      fc.jsonValue(),
      (events, gap, extra) => {
        const sent = events.map((one) => JSON.stringify(one));
        const text = `${gap}{${gap}"x":${JSON.stringify(extra)},${gap}"batch"${gap}:${gap}[${gap}${sent.join(`${gap},${gap}`)}${gap}]${gap}}`;
        const record = sampleRecord(events.map((_, at) => sampleEvent(`m${at}`)));
        const body = Buffer.from(text);
        const left = erase({ ...record, shape: 'batch', body })?.body ?? body;
        const isOwn = ({ user_id }: { user_id: string }) =>
          user_id === 'سارا' || user_id === 'anon-1';
        if (events.every(isOwn))
          expect(JSON.parse(left.toString())).toEqual({ batch: events.map(() => null) });
        else
          expect(left.toString()).toBe(
            `${gap}{${gap}"x":${JSON.stringify(extra)},${gap}"batch"${gap}:${gap}[${gap}${sent.map((one, at) => (isOwn(events[at] ?? { user_id: '' }) ? 'null' : one)).join(`${gap},${gap}`)}${gap}]${gap}}`,
          );
      },
    ),
  );
});
