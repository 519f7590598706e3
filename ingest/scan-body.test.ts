import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject, parseJson, type JsonObject } from '../events/json.ts';
import { anyJson } from '../events/testing/arbitrary-json.ts';
import { eventFields, objectField, timeField } from '../events/validate-event.ts';
import { parseSlice, scanBody } from './scan-body.ts';
import { sliceItems } from './slice-items.ts';
import { loadScanner } from './wasm/body-scanner.ts';

type Shape = 'single' | 'batch';

const SCANNERS: readonly [string, typeof scanBody][] = [
  ['WebAssembly', loadScanner().scan],
  ['TypeScript', scanBody],
];

/** What the scanner reads of a body; undefined when it leaves the body to JSON.parse. */
const scannedBy = (scan: typeof scanBody) => (text: string | Buffer, shape: Shape) => {
  const body = Buffer.from(text);
  const found = scan(body, shape);
  if (!found) return undefined;
  const { sentAt, context, slices } = found;
  const events = found.events.map(({ context: own, ...fields }) => ({
    fields,
    context: own && parseSlice(body, own),
  }));
  return { events, sentAt, context, slices };
};

/** What JSON.parse reads of the same body. Throws for one that is malformed. */
function parsed(text: string | Buffer, shape: Shape) {
  const body = Buffer.from(text);
  const value = parseJson(body);
  if (!isJsonObject(value)) throw new Error('no JSON object');
  const items = shape === 'single' ? [value] : value['batch'];
  if (!Array.isArray(items)) throw new Error('no batch');
  const events = items.map((item: unknown) => {
    if (!isJsonObject(item)) throw new Error('no object');
    const { properties, ...fields } = eventFields(item, undefined);
    if (properties && (Object.keys(properties).length > 256 || /1e999/.test(body.toString())))
      throw new Error('a warning follows from the properties');
    return { fields: { ...fields, properties: undefined }, context: item['context'] };
  });
  const sentAt = shape === 'batch' ? timeField(value, 'sent_at') : undefined;
  const context = shape === 'batch' ? objectField(value, 'context') : undefined;
  const none = { items: [], context: undefined, sentAt: undefined };
  return { events, sentAt, context, slices: shape === 'batch' ? sliceItems(body, 'batch') : none };
}

const EVENT = {
  type: 'track',
  event: 'product_viewed',
  user_id: 'u1',
  message_id: '0192f3c1-77aa-7c3e-9d52-000000000001',
  timestamp: '2026-09-20T10:00:00.5+03:30',
  properties: { price: 1_290_000, tax: -0.25, stock: true, off: null, tags: ['a', { b: [] }] },
  context: { library: { name: 'web' }, page: { title: 'هدفون \u2028 "x"\\' } },
};
const PERSIAN = { ...EVENT, event: 'مشاهدهٔ کالا', user_id: 'علی', anonymous_id: '🛒' };
const BATCH = {
  sent_at: '2026-09-20T10:00:01Z',
  context: { locale: 'fa' },
  batch: [EVENT, PERSIAN],
};

describe.each(SCANNERS)('a scan of a body in %s', (_name, scan) => {
  const scanned = scannedBy(scan);

  it.each<[string, Shape, unknown]>([
    ['an event', 'single', EVENT],
    ['an event in Persian', 'single', PERSIAN],
    ['an event without fields', 'single', {}],
    ['an event with traits', 'single', { user_id: 'u', traits: { phone: '0912', n: [1, '\n'] } }],
    ['an event with 256 properties', 'single', withProperties(256)],
    ['a batch', 'batch', BATCH],
    ['a batch with more members', 'batch', { a: [1, [2]], batch: [{}], z: { batch: [1] } }],
    ['500 events', 'batch', { batch: Array.from({ length: 500 }, () => EVENT) }],
  ])('reads what JSON.parse reads: %s', (_, shape, value) => {
    for (const text of [
      JSON.stringify(value),
      `\n${JSON.stringify(value, undefined, '\t')} \r\n`,
    ]) {
      const found = scanned(text, shape);
      expect(found).toBeDefined();
      expect(found).toEqual(parsed(text, shape));
    }
  });

  it.each<[string, Shape, string]>([
    ['nothing', 'single', ''],
    ['no object', 'single', '[]'],
    ['text behind the object', 'single', '{} {}'],
    ['a byte-order mark', 'single', '\ufeff{}'],
    ['a missing brace', 'single', '{"event":"x"'],
    ['a comma at the end', 'single', '{"event":"x",}'],
    ['a comma at the end of the batch', 'batch', '{"batch":[{},]}'],
    ['a missing colon', 'single', '{"event" "x"}'],
    ['an apostrophe', 'single', "{'event':'x'}"],
    ['a key without quotes', 'single', '{event:"x"}'],
    ['a number with a leading zero', 'single', '{"properties":{"a":01}}'],
    ['a number without digits', 'single', '{"properties":{"a":-}}'],
    ['a number that ends in a dot', 'single', '{"properties":{"a":1.}}'],
    ['a number that JSON cannot encode', 'single', '{"properties":{"a":1e999}}'],
    ['a long number', 'single', `{"properties":{"a":${'9'.repeat(400)}}}`],
    ['a broken literal', 'single', '{"properties":{"a":nul}}'],
    ['a control character in a text', 'single', '{"properties":{"a":"\u0001"}}'],
    ['a line break in a field', 'single', '{"event":"a\nb"}'],
    ['an escape that JSON does not have', 'single', String.raw`{"properties":{"a":"\x"}}`],
    ['half of an escape', 'single', String.raw`{"properties":{"a":"\u12"}}`],
    ['an escape at the end', 'single', String.raw`{"properties":{"a":"\\`],
    ['a space that JSON does not have', 'single', '{\u00a0"event":"x"}'],
    ['a form feed', 'single', '{\f"event":"x"}'],
    ['a comment', 'single', '{/**/"event":"x"}'],
    ['an escape in a field', 'single', String.raw`{"event":"\u0078"}`],
    ['an escape in a key', 'single', String.raw`{"\u0065vent":"x"}`],
    ['a field of another type', 'single', '{"user_id":5}'],
    ['a field that is null', 'single', '{"user_id":null}'],
    ['a time that is none', 'single', '{"timestamp":"yesterday"}'],
    ['properties that are a list', 'single', '{"properties":[]}'],
    ['traits that are a text', 'single', '{"traits":"x"}'],
    ['a context that is null', 'single', '{"context":null}'],
    ['257 properties', 'single', JSON.stringify(withProperties(257))],
    ['deep nesting', 'single', `{"a":${'['.repeat(40)}${']'.repeat(40)}}`],
    ['no batch', 'batch', '{}'],
    ['an empty batch', 'batch', '{"batch":[]}'],
    ['two batches', 'batch', '{"batch":[{}],"batch":[{}]}'],
    ['an empty batch and another', 'batch', '{"batch":[],"batch":[{}]}'],
    ['two contexts', 'batch', '{"context":{},"batch":[{}],"context":{}}'],
    ['two times', 'batch', '{"sent_at":"2026-09-20T10:00:01Z","sent_at":"x","batch":[{}]}'],
    ['an item that is no object', 'batch', '{"batch":[{},1]}'],
    ['501 events', 'batch', `{"batch":[${'{},'.repeat(500)}{}]}`],
  ])('leaves to JSON.parse: %s', (_, shape, text) => {
    expect(scanned(text, shape)).toBe(undefined);
  });

  it('takes the last of equal fields, as JSON.parse does', () => {
    const text = '{"event":"a","event":"b","properties":{"x":1},"traits":{},"traits":{"y":2}}';
    expect(scanned(text, 'single')).toEqual(parsed(text, 'single'));
  });

  it('reads bytes that are no UTF-8 as JSON.parse does', () => {
    for (const bytes of [[0xff], [0xc3], [0xe2, 0x80], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
      const text = Buffer.concat([
        Buffer.from('{"user_id":"'),
        Buffer.from(bytes),
        Buffer.from('","event":"é'),
        Buffer.from(bytes),
        Buffer.from('"}'),
      ]);
      expect(scanned(text, 'single')).toEqual(parsed(text, 'single'));
    }
  });

  it('reads contexts that are alike as JSON.parse does', () => {
    const context = fc.constantFrom(
      '{}',
      '{ }',
      '{"a":1}',
      '{"a":12}',
      '{"a":1,"b":{}}',
      '{"a":{"b":1}}',
      '{"a":{"b":2}}',
      '{"a":"}"}',
      '{"a":"}"} ',
      '{"a":"',
      '{"page":{"url":"https://shop.example/p/1"}}',
      '{"page":{"url":"https://shop.example/p/2"}}',
      '{"page":{"url";"https://shop.example/p/2"}}',
      '{"page":{"url":"https://shop.example/p/2"},}',
    );
    let read = 0;
    const item = fc
      .tuple(context, fc.constantFrom('', ',"context":{"a":1}', ',"traits":{"a":1}'))
      .map(([own, more]) => `{"context":${own}${more}}`);
    fc.assert(
      fc.property(
        fc.array(item, { minLength: 1, maxLength: 8 }),
        fc.constantFrom('', '}', '{'),
        (items, more) => {
          const body = `{"batch":[${items.join(',')}]${more}}`;
          const found = scanned(body, 'batch');
          if (!found) return;
          read++;
          expect(found).toEqual(parsed(body, 'batch'));
        },
      ),
      { numRuns: 5000 },
    );
    expect(read).toBeGreaterThan(500);
  });

  const space = fc.constantFrom('', '', ' ', '\t', '\r\n', '  ');
  const text = fc.oneof(
    fc.constantFrom(
      'track',
      'u1',
      '',
      'خرید',
      '🛒',
      'a b',
      '2026-09-20T10:00:00Z',
      'x'.repeat(300),
    ),
    fc.string({ unit: 'grapheme', maxLength: 6 }),
    fc.string({ unit: 'binary', maxLength: 6 }),
  );
  const name = fc.oneof(
    fc.constantFrom('type', 'event', 'user_id', 'anonymous_id', 'previous_id', 'message_id'),
    fc.constantFrom('timestamp', 'sent_at', 'properties', 'traits', 'context', 'Type', 'user_ie'),
    text,
  );
  const value = fc.oneof(
    { weight: 4, arbitrary: text },
    { weight: 2, arbitrary: fc.dictionary(text, anyJson, { maxKeys: 4 }) },
    anyJson,
  );
  const members = fc.array(fc.tuple(name, value), { maxLength: 8 });
  /** JSON with any spacing, and the same key more than once. */
  const event = fc
    .tuple(members, fc.array(space, { minLength: 4, maxLength: 4 }))
    .map(([all, [a = '', b = '', c = '', d = '']]) => {
      const texts = all.map(([key, of]) => `${JSON.stringify(key)}${a}:${b}${JSON.stringify(of)}`);
      return `{${c}${texts.join(`${d},${a}`)}${b}}`;
    });
  const batch = fc
    .tuple(fc.array(event, { maxLength: 4 }), event, event, space)
    .map(
      ([items, before, after, gap]) =>
        `{${inner(before)}"batch"${gap}:[${items.join(`${gap},`)}]${gap}${inner(after, ',')}}`,
    );
  const shaped = fc.oneof(
    fc.tuple(event, fc.constant<Shape>('single')),
    fc.tuple(batch, fc.constant<Shape>('batch')),
  );

  it('never reads anything else than JSON.parse', () => {
    let read = 0;
    fc.assert(
      fc.property(shaped, ([body, shape]) => {
        const found = scanned(body, shape);
        if (!found) return;
        read++;
        expect(found).toEqual(parsed(body, shape));
      }),
      { numRuns: 5000 },
    );
    expect(read).toBeGreaterThan(100);
  });

  it('never reads a body that JSON.parse refuses, whatever became of its bytes', () => {
    const valid = fc.oneof(
      shaped,
      fc.constant<[string, Shape]>([JSON.stringify(BATCH), 'batch']),
      fc.constant<[string, Shape]>([JSON.stringify(PERSIAN), 'single']),
    );
    const byte = fc.oneof(
      fc.constantFrom(...Buffer.from('{}[]",:\\ \n0e-.tn')),
      fc.integer({ min: 0, max: 255 }),
    );
    fc.assert(
      fc.property(
        valid,
        fc.array(fc.tuple(fc.nat(), byte, fc.nat(2)), { minLength: 1, maxLength: 3 }),
        ([body, shape], changes) => {
          let bytes = Buffer.from(body);
          for (const [place, changed, removed] of changes) {
            const at = place % bytes.length;
            bytes = Buffer.concat([
              bytes.subarray(0, at),
              ...(removed === 2 ? [] : [Buffer.from([changed])]),
              bytes.subarray(at + Math.min(removed, 1)),
            ]);
          }
          const found = scanned(bytes, shape);
          if (found) expect(found).toEqual(parsed(bytes, shape));
        },
      ),
      { numRuns: 20_000 },
    );
  });
});

function withProperties(count: number): JsonObject {
  const keys = Array.from({ length: count }, (_, at) => [`k${at}`, at]);
  return { event: 'x', properties: Object.fromEntries(keys) as JsonObject };
}

/** The members of a JSON object, with a comma behind or before them. */
function inner(object: string, before = ''): string {
  const members = object.slice(1, -1).trim();
  if (members === '') return '';
  return before ? `${before}${members}` : `${members},`;
}
