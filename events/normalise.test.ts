import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventRowCodec } from '../schemas/codec.ts';
import { anyEnvelope, anyText } from './testing/arbitrary-json.ts';
import type { JsonObject } from './json.ts';
import { ContextReader, normaliseEvent, type ItemFacts, type RecordFacts } from './normalise.ts';
import { UserAgentCache } from './user-agent.ts';

const NOW = Date.UTC(2026, 10, 21, 10);
const AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
const RECORD: RecordFacts = {
  account_id: 7,
  app_id: 3,
  received_at: NOW,
  source: 'sdk',
  ip: '203.0.113.9',
  user_agent: AGENT,
  trace: '6f1c52a09be4d378',
};
const ITEM: ItemFacts = { type: 'track', message_id: 'm1', dedupe_id: null, timestamp: NOW - 5 };
const PLACE = { epoch: 0, partition: 1, offset: 22, index: 3 };

interface Given {
  envelope: JsonObject;
  record?: Partial<RecordFacts>;
  item?: Partial<ItemFacts>;
  batchContext?: unknown;
}

function row(
  { envelope, record, item, batchContext }: Given,
  reader = new ContextReader(new UserAgentCache(10)),
) {
  return normaliseEvent(
    {
      record: { ...RECORD, ...record },
      item: { ...ITEM, ...item },
      envelope,
      batchContext,
      position: PLACE,
      acceptance: 99,
    },
    reader,
  );
}

test('a row has the decisions, log position and connection of the record, whatever the body says', () => {
  const envelope = {
    type: 'page',
    event: ' e ',
    user_id: 'u',
    anonymous_id: 'a',
    message_id: 'other',
    timestamp: '2020-01-01T00:00:00Z',
    account_id: 9,
    ip: 'x',
  };
  expect(row({ envelope })).toMatchObject({
    _epoch: 0,
    _partition: 1,
    _offset: 22,
    _index: 3,
    _acceptance: 99,
    _dedupe_id: '',
    account_id: 7,
    app_id: 3,
    type: 'track',
    event: 'e',
    user_id: 'u',
    anonymous_id: 'a',
    previous_id: '',
    message_id: 'm1',
    timestamp: NOW - 5,
    received_at: NOW,
    revenue: 0,
    currency: 'IRR',
    source: 'sdk',
    ip: '203.0.113.9',
    user_agent: AGENT,
    is_bot: false,
    browser_name: 'Chrome',
    os_name: 'windows',
  });
});

test('an order is stored with its properties and revenue', () => {
  const envelope = {
    event: 'order_completed',
    user_id: 'u',
    properties: { 'order.id': 'A-1', price: 1250.5, quantity: 2, currency: 'usd' },
  };
  expect(row({ envelope })).toMatchObject({
    properties: { order_id: 'A-1', price: '1250.5', quantity: '2', currency: 'usd' },
    property_numbers: { price: 1250.5, quantity: 2 },
    revenue: 2501,
    currency: 'USD',
  });
});

test('an identify is stored with empty properties, and its traits go to the profile', () => {
  const envelope = {
    event: 'x',
    user_id: 'u',
    properties: { revenue: 5 },
    traits: { phone: '09121234567', age: 30 },
  };
  expect(row({ envelope, item: { type: 'identify' } })).toMatchObject({
    event: 'identify',
    properties: {},
    property_numbers: {},
    revenue: 0,
    traits: { age: '30', phone_operator: 'mci' },
    trait_numbers: { age: 30 },
    profile: { phone: '+989121234567' },
  });
});

test('traits of every type go to the profile', () => {
  expect(row({ envelope: { event: 'e', user_id: 'u', traits: { city: 'كرج' } } }).profile).toEqual({
    city: 'کرج',
  });
});

test('previous_id is stored for an alias only', () => {
  const envelope = { user_id: 'u', previous_id: 'p' };
  expect(row({ envelope, item: { type: 'alias' } })).toMatchObject({
    event: 'alias',
    previous_id: 'p',
  });
  expect(row({ envelope, item: { type: 'page' } })).toMatchObject({
    event: 'page_viewed',
    previous_id: '',
  });
});

test('identifiers and message ids are not Persian-normalised', () => {
  expect(row({ envelope: { event: 'e', user_id: ' ك ', anonymous_id: 'ي' } })).toMatchObject({
    user_id: ' ك ',
    anonymous_id: 'ي',
  });
});

describe('the context of a batch', () => {
  const batchContext = { locale: 'fa', page: { url: 'https://b' } };
  test.each<[string, JsonObject, object]>([
    ['is inherited by an event without context', {}, { locale: 'fa', page_url: 'https://b' }],
    [
      'is inherited when the context of the event is null',
      { context: null },
      { locale: 'fa', page_url: 'https://b' },
    ],
    [
      'does not overwrite the context of the event',
      { context: { locale: 'en' } },
      { locale: 'en', page_url: '' },
    ],
    ['does not fill an empty context of the event', { context: {} }, { locale: '', page_url: '' }],
  ])('%s', (_, envelope, expected) => {
    expect(row({ envelope, batchContext })).toMatchObject(expected);
  });
});

describe('an event from a backend', () => {
  test.each(['import', 'webhook'] as const)(
    'of source %s is stored with context.ip, without address and User-Agent of the connection',
    (source) => {
      const result = row({
        envelope: { event: 'e', user_id: 'u', context: { ip: '9.9.9.9' } },
        record: { source, user_agent: 'Googlebot/2.1' },
      });
      expect(result).toMatchObject({
        source,
        ip: '9.9.9.9',
        user_agent: '',
        is_bot: false,
        browser_name: '',
        device_type: '',
      });
    },
  );
});

test('the reader never mixes two contexts', () => {
  const reader = new ContextReader(new UserAgentCache(10));
  const context = { locale: 'fa' };
  const other: RecordFacts = { ...RECORD, ip: '1.1.1.1' };
  const columns = reader.columns(context, RECORD);
  expect(reader.columns(context, RECORD)).toBe(columns);
  expect(reader.columns({ locale: 'fa' }, RECORD)).toEqual(columns);
  expect(reader.columns(context, other).ip).toBe('1.1.1.1');
  expect(reader.columns(undefined, other).locale).toBe('');
  expect(reader.columns(undefined, RECORD).ip).toBe('203.0.113.9');
});

test('any envelope gives a row of the schema, the same one each time', () => {
  const reader = new ContextReader(new UserAgentCache(10));
  fc.assert(
    fc.property(
      anyEnvelope,
      anyEnvelope,
      fc.constantFrom('track', 'identify', 'page', 'screen', 'alias'),
      (envelope, batchContext, type) => {
        const given: Given = { envelope, item: { type }, batchContext: batchContext['context'] };
        const first = row(given, reader);
        expect(eventRowCodec.decode(eventRowCodec.encode(first))).toEqual(first);
        expect(row(given)).toEqual(first);
      },
    ),
    { numRuns: 1000 },
  );
});

test('normalising stored texts again does not change them', () => {
  const texts = fc.dictionary(anyText, anyText, { maxKeys: 5 });
  fc.assert(
    fc.property(anyText, texts, texts, (event, properties, traits) => {
      const once = row({ envelope: { event, properties, traits } });
      const again = row({
        envelope: { event: once.event, properties: once.properties, traits: once.traits },
      });
      expect(again).toEqual({ ...once, profile: {} });
    }),
    { numRuns: 500 },
  );
});
