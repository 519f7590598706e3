import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AvroWriter } from '../schemas/avro-writer.ts';
import { writeContext } from '../schemas/row-encoder.ts';
import { ContextWriter } from './context-bytes.ts';
import { contextColumns } from './context.ts';
import { anyContextJson } from './testing/arbitrary-context-json.ts';
import { NO_USER_AGENT, parseUserAgent } from './user-agent.ts';

const AGENTS = [
  '',
  'Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
].map(parseUserAgent);

const SOURCE = 'sdk';

function expected(
  json: string | undefined,
  connection: { ip: string; agent: typeof NO_USER_AGENT },
) {
  const to = new AvroWriter(64);
  const sent: unknown = json === undefined ? undefined : JSON.parse(json);
  writeContext({ ...contextColumns(sent, connection), source: SOURCE }, to);
  return Buffer.from(to.bytes(0, to.end));
}

/** What the writer writes after the source; undefined when it leaves the context to others. */
function written(
  writer: ContextWriter,
  json: string | undefined,
  connection: { ip: string; agent: typeof NO_USER_AGENT },
) {
  const to = new AvroWriter(64);
  to.string(SOURCE);
  const before = to.end;
  const bytes = Buffer.from(`"before${json ?? ''}"after`);
  const place = json === undefined ? { start: 0, end: 0 } : { start: 7, end: bytes.length - 6 };
  const isWritten = writer.write(bytes, place, connection, to);
  if (!isWritten) expect(to.end).toBe(before);
  return isWritten ? Buffer.from(to.bytes(0, to.end)) : undefined;
}

describe('encoding the columns of a context from its bytes', () => {
  const from = { ip: '203.0.113.9', agent: AGENTS[1] ?? NO_USER_AGENT };

  it.each([
    ['no context', undefined],
    ['an empty one', ' { } '.trim()],
    ['a list', '[{"locale":"fa"}]'],
    ['null', 'null'],
    ['spaces', '{ "locale" : "fa-IR" ,\n"page":{ "url" :"https://x.example/" } }'],
    [
      'a page in Persian',
      '{"page":{"title":"کفش ورزشی","path":"/کفش"},"location":{"city":"تهران"}}',
    ],
    ['a title that is changed', '{"page":{"title":" كفش  ي "}}'],
    ['a text that is cut', `{"locale":"${'x'.repeat(40)}","page":{"title":"${'ی'.repeat(300)}"}}`],
    ['ids', '{"campaign":{"campaign_id":12,"journey_id":"0034","variant_id":"b"}}'],
    ['ids that are none', '{"campaign":{"campaign_id":0,"journey_id":"12a"}}'],
    ['an id of 17 digits', '{"campaign":{"journey_id":"00000000000000012"}}'],
    ['the largest id', '{"campaign":{"campaign_id":9007199254740991}}'],
    ['an id that is too large', '{"campaign":{"campaign_id":9007199254740992}}'],
    ['the same OS', '{"os":{"name":"ANDROID"}}'],
    ['another OS', '{"os":{"name":"iOS"}}'],
    ['the same vendor', '{"device":{"manufacturer":"samsung"}}'],
    ['another vendor', '{"device":{"manufacturer":"Xiaomi"}}'],
    ['a part that is no object', '{"device":null,"os":[],"page":"x","app":3}'],
    ['fields that are no text', '{"locale":null,"timezone":["x"],"session_id":{"a":1},"ip":true}'],
    ['unknown keys', '{"x":{"name":"y"},"page":{"y":{"url":"z"}},"library":{"name":"web","a":1}}'],
  ])('writes what contextColumns and writeContext write: %s', (_, json) => {
    for (const connection of [from, { ip: '', agent: NO_USER_AGENT }])
      expect(written(new ContextWriter(), json, connection)).toEqual(expected(json, connection));
  });

  it.each([
    ['an escape in a field', '{"page":{"title":"a\\"b"}}'],
    ['an escape in a key', '{"l\\u006fcale":"fa"}'],
    ['a number as a text', '{"app":{"version":3}}'],
    ['a fraction as an id', '{"campaign":{"campaign_id":1.5}}'],
    ['a field twice', '{"locale":"fa","locale":"en"}'],
    ['a part twice', '{"page":{"url":"a"},"page":{"path":"b"}}'],
  ])('leaves to contextColumns: %s', (_, json) => {
    expect(written(new ContextWriter(), json, from)).toBeUndefined();
  });

  it('writes the same bytes for any context, whatever was written before', () => {
    let count = 0;
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(anyContextJson, fc.constantFrom('', '203.0.113.9'), fc.constantFrom(...AGENTS)),
          { maxLength: 4 },
        ),
        (contexts) => {
          const writer = new ContextWriter();
          for (const [json, ip, agent] of contexts) {
            const found = written(writer, json, { ip, agent });
            if (!found) continue;
            expect(found).toEqual(expected(json, { ip, agent }));
            count++;
          }
        },
      ),
      { numRuns: 1000 },
    );
    expect(count).toBeGreaterThan(500);
  });
});
