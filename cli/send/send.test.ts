import { describe, expect, it } from 'vitest';
import { orderedBatches } from '../traffic/ordered-batches.ts';
import { pageEvent, parseAccessLine } from './access-log.ts';
import { startNaming } from './lines.ts';
import { envelopeItem, parseEnvelope } from './ndjson.ts';

const LINE =
  '83.149.9.216 - - [17/May/2015:10:05:03 +0430] "GET /a/b.png?x=1 HTTP/1.1" 200 203023 "http://example.com/\\"q\\"" "Mozilla/5.0 (X11) \\"odd\\""';

describe('the reader of access logs', () => {
  it('reads the combined format, with its zone and its escaped quotes', () => {
    expect(parseAccessLine(LINE)).toEqual({
      address: '83.149.9.216',
      time: Date.UTC(2015, 4, 17, 5, 35, 3),
      method: 'GET',
      target: '/a/b.png?x=1',
      status: 200,
      bytes: 203_023,
      referrer: 'http://example.com/"q"',
      userAgent: 'Mozilla/5.0 (X11) "odd"',
    });
  });

  it.each([
    '',
    'x',
    '{"type":"page"}',
    LINE.replace('17/May', '17/Mai'),
    LINE.replace(' HTTP/1.1', '').replace('GET ', ''),
  ])('refuses %j', (line) => {
    expect(parseAccessLine(line)).toBeUndefined();
  });

  it('identifies a visitor by address and user agent, and shifts the time', () => {
    const request = parseAccessLine(LINE);
    if (!request) throw new Error('unreadable');
    const one = pageEvent(request, 'm', 1000).item as { anonymous_id: string; timestamp: string };
    const other = pageEvent({ ...request, userAgent: 'else' }, 'm', 0).item as {
      anonymous_id: string;
    };
    expect(one.timestamp).toBe('2015-05-17T05:35:04.000Z');
    expect(one.anonymous_id).not.toBe(other.anonymous_id);
  });
});

describe('message ids of lines', () => {
  it('derive from the content and the number of its repetition', () => {
    const first = startNaming();
    const ids = [first('a'), first('b'), first('a')];
    expect(new Set(ids).size).toBe(3);
    const again = startNaming();
    expect([again('a'), again('b'), again('a')]).toEqual(ids);
  });

  it('are replaced by the id of the envelope', () => {
    const envelope = parseEnvelope(
      '{"type":"track","event":"x","user_id":"u","message_id":"own","timestamp":"2026-01-01T00:00:00Z"}',
    );
    expect(envelope && envelopeItem(envelope, 'made', 60_000).item).toMatchObject({
      message_id: 'own',
      timestamp: '2026-01-01T00:01:00.000Z',
    });
  });
});

it('batches keep the order of one key and split where the user agent changes', () => {
  const items = [1, 2, 3, 4].map((n) => ({
    orderKey: 'a',
    userAgent: n < 4 ? 'x' : 'y',
    item: { n },
  }));
  expect(orderedBatches(items, 2)).toEqual([
    [
      { items: [{ n: 1 }, { n: 2 }], userAgent: 'x' },
      { items: [{ n: 3 }], userAgent: 'x' },
      { items: [{ n: 4 }], userAgent: 'y' },
    ],
  ]);
});
