import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AvroWriter } from '../../schemas/avro-writer.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import type { RawItem, RawRecord } from '../../schemas/records.ts';
import { RowEncoder } from '../../schemas/row-encoder.ts';
import { ROW_VERSIONS } from '../../schemas/row-versions.ts';
import { parseJson } from '../json.ts';
import { ContextReader } from '../normalise.ts';
import { anyEventJson as event } from '../testing/arbitrary-event-json.ts';
import { sampleMessage, sampleRecord } from '../testing/raw-records.ts';
import { UserAgentCache } from '../user-agent.ts';
import { wholeRows } from './decide.ts';
import { DecodedRecord, decodeRecord } from './decode-record.ts';
import { ItemEncoder } from './encode-item.ts';

const contexts = () => new ContextReader(new UserAgentCache(10));

interface Made {
  /** Of every item: its row in bytes, undefined when it must be made a value first. */
  rows: (Buffer | undefined)[];
  /** The same, of a row that is made as a value. */
  expected: Buffer[];
}

function made(
  body: string | Buffer,
  changes: Partial<RawRecord> = {},
  tools = { encoder: new ItemEncoder(contexts()), version: ROW_VERSIONS.length },
): Made {
  const base = sampleRecord([{ message_id: 'm' }]);
  const record = { ...base, body: Buffer.from(body), ...changes };
  const decoded = decodeRecord(sampleMessage(rawRecordCodec.encode(record), { offset: 3 }));
  if (decoded.state !== 'decoded') return { rows: [], expected: [] };
  const parsed = parsedAnew(decoded);
  const makeRow = wholeRows(contexts());
  const result: Made = { rows: [], expected: [] };
  for (const [index, item] of record.items.entries()) {
    if (item.type === 'erased' || !decoded.hasEvent(item.at)) continue;
    const place = { epoch: 1, partition: 2, offset: 3, index };
    const accepted = { ...item, type: item.type };
    const of = { item: accepted, position: place, acceptance: 77 + index };
    const to = new AvroWriter(16);
    to.long(5);
    const from = to.end;
    const row = tools.encoder.encode({ decoded, ...of }, to, tools.version);
    if (!row) expect(to.end).toBe(from);
    result.rows.push(row && Buffer.from(row.encoded.bytes.subarray(row.encoded.from, to.end)));
    const slow = new AvroWriter(16);
    new RowEncoder().encode(makeRow({ decoded: parsed, ...of }), slow, tools.version);
    result.expected.push(Buffer.from(slow.bytes(0, slow.end)));
  }
  return result;
}

/** The same record, of which JSON.parse has made values. */
function parsedAnew({ source, record, bytes, bodyStart, bodyEnd }: DecodedRecord): DecodedRecord {
  const body = parseJson(bytes.subarray(bodyStart, bodyEnd)) as Record<string, unknown>;
  return new DecodedRecord(
    source,
    { record, bytes, bodyStart, bodyEnd },
    record.shape === 'batch'
      ? { envelopes: body['batch'] as unknown[], batchContext: body['context'] }
      : { envelopes: [body], batchContext: undefined },
  );
}

function expectSame({ rows, expected }: Made): void {
  for (const [at, row] of rows.entries()) if (row) expect(row).toEqual(expected[at]);
}

const propertiesOf = (properties: string) =>
  `{"event":"e","user_id":"u","properties":${properties}}`;

describe('encoding the row of an event from its bytes', () => {
  it.each([
    ['nothing', '{}'],
    ['spaces between everything', ' {\n"a" :\t1 ,"b": "x" , "c":true}\r\n '],
    ['texts', '{"a":"x","b":"","c":"two words","title":"کفش ورزشی مردانه ۱۲"}'],
    ['texts that are changed', '{"a":" x","b":"y ","c":"a  b","d":"علي","e":"\\u0041","f":"\\t"}'],
    ['texts of four bytes a sign', '{"a":"🛒 x","b":"👍🏽"}'],
    ['texts of 8,192 bytes and more', `{"a":"${'x'.repeat(8192)}","b":"${'x'.repeat(8193)}"}`],
    ['whole numbers', '{"a":0,"b":-1,"c":123456789012345,"d":1234567890123456,"e":-0}'],
    ['fractions', '{"a":0.5,"b":-12.50,"c":1.0,"d":0.0000001,"e":123456789012345.678}'],
    ['numbers of many digits', '{"a":12345678901234567890,"b":1000000000000000000000000}'],
    ['true, false and null', '{"a":true,"b":false,"c":null}'],
    ['only null', '{"a":null}'],
    ['as many null as there may be keys', objectOf(256, () => null)],
    ['lists and objects', '{"a":[1, 2,{"b":null}],"c":{"d" : "e"},"f":[]}'],
    ['an amount', '{"revenue":12,"total":13}'],
    ['a price and a quantity', '{"price":12.5,"quantity":3,"value":0}'],
    ['amounts that are no numbers', '{"revenue":true,"total":"5","price":10,"quantity":false}'],
    ['a negative amount', '{"value":-15}'],
    ['a currency', '{"currency":"usd"}'],
    ['a currency in Persian', '{"currency":"ریال"}'],
    ['a currency that is a number', '{"currency":12}'],
    ['a currency that is a fraction', '{"currency":1.50}'],
    ['a currency that is a boolean', '{"currency":true}'],
    ['a currency that is null', '{"currency":null}'],
    ['a currency that is a list', '{"currency":["usd"]}'],
    ['63 properties', objectOf(63)],
    ['names of functions', '{"constructor":1,"toString":"x","hasOwnProperty":true}'],
    ['keys with digits and underscores', '{"a_1":1,"b__2":"x","C3":2}'],
    ['a long key', `{"${'k'.repeat(128)}":1}`],
  ])('writes what normaliseEvent and RowEncoder write: properties with %s', (_, properties) => {
    const result = made(propertiesOf(properties));
    expect(result.rows[0]).toBeDefined();
    expectSame(result);
  });

  it.each([
    ['a key that is repeated', '{"a":1,"b":2,"a":"x"}'],
    ['a key with a dot', '{"a.b":1}'],
    ['a key with a space', '{"a b":1}'],
    ['a key in Persian', '{"نام":1}'],
    ['a key like an index', '{"b":1,"2":1}'],
    ['a key that begins or ends with an underscore', '{"_a":1}'],
    ['a key that ends with an underscore', '{"a_":1}'],
    ['__proto__', '{"__proto__":1}'],
    ['an escape in a key', '{"\\u0061":1}'],
    ['an empty key', '{"":1}'],
    ['a key of more than 128 bytes', `{"${'k'.repeat(129)}":1}`],
    ['64 properties', objectOf(64)],
    ['257 properties', objectOf(257)],
    ['an exponent', '{"a":1e3}'],
  ])('leaves to normaliseEvent: %s', (_, properties) => {
    expect(made(propertiesOf(properties)).rows).toEqual([undefined]);
  });

  it('takes the last of equal fields, as JSON.parse does', () => {
    const result = made(
      '{"event":"a","event":"b","user_id":"x","user_id":"y","properties":{"a":1},"properties":{"b":2},"traits":{"a":1},"traits":{"b":2},"context":{"locale":"a"},"context":{"locale":"b"}}',
    );
    expect(result.rows[0]).toBeDefined();
    expectSame(result);
  });

  it('reads bytes that are no UTF-8 as JSON.parse does', () => {
    const broken = [[0xff], [0xc3], [0xe2, 0x80], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf0, 0x9f]];
    for (const bytes of [...broken, [0xe0, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xd8]]) {
      const parts =
        '{"event":"é*","user_id":"*","anonymous_id":"a*b","properties":{"a":"*","b":"x*y"},"context":{"locale":"*"}}';
      const body = Buffer.concat(
        parts
          .split('*')
          .flatMap((part, at) => [...(at > 0 ? [Buffer.from(bytes)] : []), Buffer.from(part)]),
      );
      const result = made(body);
      expect(result.rows[0]).toBeDefined();
      expectSame(result);
    }
  });

  it('writes no properties of an identify, and previous_id of an alias only', () => {
    const body =
      '{"event":"e","user_id":"u","previous_id":"p","properties":{"price":5},"traits":{"phone":"09121234567","plan":"gold","level":3}}';
    for (const type of ['track', 'identify', 'alias', 'page', 'screen'] as const) {
      const result = made(body, { items: [itemOf({ type })] });
      expect(result.rows[0]).toBeDefined();
      expectSame(result);
    }
  });

  it('leaves events of the platform to normaliseEvent: a property flags them as bot traffic', () => {
    const body = '{"event":"message_opened","user_id":"u","properties":{"opened_by":"bot"}}';
    expect(made(body, { source: 'platform' }).rows).toEqual([undefined]);
  });

  it('does not know an event that the body lacks', () => {
    expect(made('{"event":"e"}', { items: [itemOf({ at: 1 })] }).rows).toEqual([]);
    expect(
      made('{"batch":[{}]}', { shape: 'batch', items: [itemOf({ at: 1 }), itemOf({ at: -1 })] })
        .rows,
    ).toEqual([]);
  });

  it('uses the context of a batch where an event has none, and no context of another record', () => {
    const tools = { encoder: new ItemEncoder(contexts()), version: 2 };
    const body =
      '{"context":{"locale":"fa"},"batch":[{"user_id":"a"},{"context":{"locale":"en"}},{},{"context":{}}]}';
    const items = [0, 1, 2, 3].map((at) => itemOf({ at }));
    for (const changes of [
      {},
      { ip: '' },
      { user_agent: 'x' },
      { source: 'import' as const },
      {},
    ]) {
      const result = made(body, { shape: 'batch', items, ...changes }, tools);
      expect(result.rows.filter(Boolean)).toHaveLength(4);
      expectSame(result);
      expectSame(made('{"user_id":"a"}', changes, tools));
    }
  });

  it.each(ROW_VERSIONS)('writes version $version', ({ version }) => {
    const tools = { encoder: new ItemEncoder(contexts()), version };
    const result = made(propertiesOf('{"a":1}'), { trace: 'abc' }, tools);
    expect(result.rows[0]).toBeDefined();
    expectSame(result);
  });

  const type = fc.constantFrom('track', 'identify', 'alias', 'page', 'screen');

  it('writes the same bytes for any events, whatever was written before', () => {
    let encoded = 0;
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.array(event, { minLength: 1, maxLength: 3 }), type), { maxLength: 4 }),
        (records) => {
          const tools = { encoder: new ItemEncoder(contexts()), version: 2 };
          for (const [events, itemType] of records) {
            const batch = made(
              `{"context":{"locale":"fa"},"batch":[${events.join(',')}]}`,
              {
                shape: 'batch',
                items: events.map((_, at) => itemOf({ at, type: itemType as 'track' })),
              },
              tools,
            );
            expectSame(batch);
            encoded += batch.rows.filter(Boolean).length;
            expectSame(made(events[0] ?? '', {}, tools));
          }
        },
      ),
      { numRuns: 300 },
    );
    expect(encoded).toBeGreaterThan(100);
  });

  it('refuses bodies that JSON.parse refuses, wherever they are damaged', () => {
    fc.assert(
      fc.property(event, fc.nat(), fc.nat(255), fc.boolean(), (text, at, byte, cuts) => {
        const body = Buffer.from(text);
        const damaged = cuts ? body.subarray(0, at % body.length) : body;
        if (!cuts) damaged[at % body.length] = byte;
        const record = { ...sampleRecord([{ message_id: 'm' }]), body: damaged };
        const decoded = decodeRecord(sampleMessage(record, { offset: 1 }));
        const json = parseJson(damaged);
        const isEvent = typeof json === 'object' && json !== null && !Array.isArray(json);
        expect(decoded.state === 'decoded').toBe(isEvent);
        if (isEvent) expectSame(made(damaged));
      }),
      { numRuns: 500 },
    );
  });
});

function objectOf(members: number, valueAt: (at: number) => unknown = (at) => at): string {
  return JSON.stringify(
    Object.fromEntries(Array.from({ length: members }, (_, at) => [`k${at}`, valueAt(at)])),
  );
}

function itemOf(changes: Partial<RawItem>): RawItem {
  const item = { at: 0, index: 0, type: 'track' as const, message_id: 'm', generated: false };
  return { ...item, dedupe_id: null, timestamp: 1_790_000_000_000, ...changes };
}
