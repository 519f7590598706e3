import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyJson } from '../events/testing/arbitrary-json.ts';
import { decideBody, decideLargeBody, type BodyToDecide } from './decide-body.ts';

const NOW = 1_790_000_000_000;

function input(body: unknown, more: Partial<BodyToDecide> = {}): BodyToDecide {
  return {
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    ...{ shape: 'batch', type: 'track', receivedAt: NOW, windowMs: 30 * 86_400_000, quota: 'open' },
    ...more,
  };
}

const both = (one: BodyToDecide) => [decideBody(one).decision, decideLargeBody(one).decision];

describe('a body that may be expensive to parse', () => {
  const value = fc.oneof(
    anyJson,
    fc.constantFrom('09121234567', 'x', '', 1e21, [['0912 1234567']]),
  );
  const time = fc.constantFrom('2026-09-20T10:00:00Z', '2020-01-01T00:00:00Z', 7, '', null);
  const map = fc.oneof(
    fc.dictionary(fc.constantFrom('a', 'phone', 'national_id', ' b.c '), value),
    fc
      .nat(400)
      .map((n) => Object.fromEntries(Array.from({ length: n }, (_, at) => [`k${at}`, at]))),
    value,
  );
  const id = fc.oneof(fc.string({ maxLength: 3 }), fc.constantFrom('u', 'x'.repeat(300)), value);
  const event = fc.record(
    {
      type: fc.oneof(fc.constantFrom('track', 'identify', 'alias', 'nonsense'), value),
      event: fc.oneof(fc.constantFrom('x', 'a\nb', 'y'.repeat(200)), value),
      user_id: id,
      anonymous_id: id,
      previous_id: id,
      message_id: id,
      timestamp: time,
      sent_at: time,
      properties: map,
      traits: map,
      context: fc.oneof(fc.record({ library: map, page: map }, { requiredKeys: [] }), value),
      more: value,
    },
    { requiredKeys: [] },
  );
  const batch = fc.record(
    {
      batch: fc.oneof({ weight: 9, arbitrary: fc.array(event, { maxLength: 8 }) }, value),
      context: fc.oneof(map, value),
      sent_at: time,
      more: value,
    },
    { requiredKeys: [] },
  );

  it('is decided as any other body', () => {
    fc.assert(
      fc.property(
        fc.oneof(event, batch, anyJson),
        fc.constantFrom('single' as const, 'batch' as const, 'import' as const),
        fc.constantFrom('open' as const, 'quota_event_cap' as const),
        (sent, shape, quota) => {
          const json = JSON.stringify(sent).replaceAll('1e+21', '1e999');
          const text = shape === 'import' ? json.replaceAll('"batch"', '"events"') : json;
          const [plain, large] = both(input(text, { shape, quota }));
          expect(large).toEqual(plain);
        },
      ),
      { numRuns: 3000 },
    );
  });

  it.each([
    ['501 items', `{"batch":[${'{},'.repeat(500)}{}]}`],
    ['3,000 items that are no objects', `{"batch":[${'0,'.repeat(2999)}0]}`],
    ['3,000 items in the second of two batches', `{"batch":[0],"batch":[${'0,'.repeat(2999)}0]}`],
    ['a batch after one of 3,000 items', `{"batch":[${'0,'.repeat(2999)}0],"batch":[{}]}`],
    ['3,000 items, and no end', `{"batch":[${'0,'.repeat(2999)}0]`],
    ['no items', '{"batch":[]}'],
    ['no JSON', '[[[['],
    ['nothing', ''],
    ['a byte-order mark', '\ufeff{"batch":[]}'],
    [
      'a nested phone',
      `{"batch":[{"type":"identify","user_id":"u","traits":{"phone":["09121234567"]}}]}`,
    ],
    [
      'a long nested phone',
      `{"batch":[{"type":"identify","user_id":"u","traits":{"phone":["${'x'.repeat(200)}09121234567"]}}]}`,
    ],
  ])('is decided as any other body: %s', (_, text) => {
    for (const quota of ['open', 'quota_cancelled'] as const)
      for (const [shape, body] of [
        ['batch', text],
        ['import', text.replaceAll('"batch"', '"events"')],
      ] as const) {
        const [plain, large] = both(input(body, { quota, shape }));
        expect(large).toEqual(plain);
      }
  });

  it.each([
    ['no events', '{}', 'batch_empty'],
    ['events that are null', '{"events":null}', 'batch_empty'],
    ['an empty list', '{"events":[]}', 'batch_empty'],
    ['501 events', `{"events":[${'0,'.repeat(500)}0]}`, 'batch_too_large'],
    ['one event, of an account that may send none', '{"events":[0]}', 'quota_cancelled'],
  ])('is refused as an import for its first reason: %s', (_, text, code) => {
    for (const decision of both(input(text, { shape: 'import', quota: 'quota_cancelled' })))
      expect(decision).toMatchObject({ outcome: 'refused', count: { code } });
  });

  it('gives the log what it sent, or what is stored of a long nested value', () => {
    const item = { type: 'track', event: 'x', user_id: 'u', properties: { a: [1], b: 'c' } };
    const whole = input({ context: { page: { url: 'u' } }, batch: [item, item] });
    expect(decideLargeBody(whole).body).toBe(undefined);
    const [long] = [
      `{"user_id":"u","event":"x","properties":{"a":[${'{},'.repeat(9000)}0],"b":1}}`,
    ];
    const decided = decideLargeBody(input(long, { shape: 'single' }));
    const logged = JSON.parse(decided.body?.toString() ?? '') as { properties: { a: unknown } };
    expect(logged).toMatchObject({ user_id: 'u', event: 'x', properties: { b: 1 } });
    expect(JSON.stringify(logged.properties.a).slice(0, 8192)).toBe(
      `[${'{},'.repeat(9000)}`.slice(0, 8192),
    );
  });

  it('makes no values of what no decision reads', () => {
    const dense = `[${'{"a":[]},'.repeat(100_000)}{}]`;
    const before = process.memoryUsage().heapUsed;
    for (const text of [
      `{"batch":${dense}}`,
      `{"batch":[{"type":"page","user_id":"u","x":${dense}}]}`,
      `{"batch":[{"type":"page","user_id":"u","properties":{"x":${dense}}}]}`,
      `{"batch":[{"type":"page","user_id":"u","properties":${dense}}]}`,
      `{"batch":[{"type":"page","user_id":"u"}],"context":{"page":{"x":${dense}}}}`,
      `{"batch":[{"type":"page","user_id":${dense}}]}`,
    ])
      decideLargeBody(input(text));
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * 1024 * 1024);
  });
});
