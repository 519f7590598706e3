import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyEnvelope, anyJson } from './testing/arbitrary-json.ts';
import { decideBatch, decideImport, decideSingle } from './validate.ts';

const NOW = Date.UTC(2026, 10, 21, 10);
const DAY = 86_400_000;
const receipt = { now: NOW, windowMs: 30 * DAY };
type Type = Parameters<typeof decideSingle>[0]['type'];

const single = (type: Type, body: unknown) => decideSingle({ body, type, ...receipt });
const batch = (body: unknown) => decideBatch({ body, ...receipt });
const me = { user_id: 'u1', message_id: 'm1' };
const ok = { type: 'track', event: 'e', ...me };

/** The reason of a single event, `accepted`, or `malformed`. */
function verdict(type: Type, body: unknown): string {
  const decided = single(type, body);
  if (decided.outcome !== 'decided') return decided.outcome;
  expect(decided.accepted.length + decided.rejected.length).toBe(1);
  return decided.rejected[0]?.reason ?? 'accepted';
}

describe('an event', () => {
  const long = 'x'.repeat(257);
  test.each<[string, Type, unknown, string]>([
    ['a track', 'track', { event: 'e', ...me }, 'accepted'],
    ['anonymous', 'track', { event: 'e', anonymous_id: 'a' }, 'accepted'],
    ['no identity', 'track', { event: 'e' }, 'missing_identity'],
    [
      'empty identities',
      'track',
      { event: 'e', user_id: '', anonymous_id: null },
      'missing_identity',
    ],
    ['no identity before no name', 'track', {}, 'missing_identity'],
    ['no name', 'track', me, 'missing_event_name'],
    [
      'a name that normalises to nothing',
      'track',
      { event: ' \u064b\u200d ', ...me },
      'missing_event_name',
    ],
    ['128 bytes', 'track', { event: 'x'.repeat(128), ...me }, 'accepted'],
    ['129 bytes', 'track', { event: 'x'.repeat(129), ...me }, 'event_name_too_long'],
    ['64 Persian letters', 'track', { event: 'ن'.repeat(64), ...me }, 'accepted'],
    ['65 Persian letters', 'track', { event: 'ن'.repeat(65), ...me }, 'event_name_too_long'],
    [
      '128 bytes after trimming and normalisation',
      'track',
      { event: `  ${'ن\u064b'.repeat(64)}  `, ...me },
      'accepted',
    ],
    [
      '128 bytes, a space, and more',
      'track',
      { event: `${'x'.repeat(128)} \u{1f600}\u{1f600}\u{1f600}`, ...me },
      'event_name_too_long',
    ],
    ['a control character', 'track', { event: 'a\u0007b', ...me }, 'event_name_invalid_chars'],
    ['NUL', 'track', { event: 'a\u0000', ...me }, 'event_name_invalid_chars'],
    ['a line break inside', 'track', { event: 'a\nb', ...me }, 'event_name_invalid_chars'],
    ['a line break around', 'track', { event: '\na\n', ...me }, 'accepted'],
    ['C1 control', 'track', { event: 'a\u0091b', ...me }, 'event_name_invalid_chars'],
    [
      'too long before invalid',
      'track',
      { event: '\u0000'.repeat(200), ...me },
      'event_name_too_long',
    ],
    [
      'spaces, slashes, emoji, Persian',
      'track',
      { event: 'خرید / \u{1f600} OK', ...me },
      'accepted',
    ],
    ['name fault before id fault', 'track', { user_id: long }, 'missing_event_name'],
    ['long user_id', 'track', { event: 'e', user_id: long }, 'id_too_long'],
    ['long anonymous_id', 'track', { event: 'e', user_id: 'u', anonymous_id: long }, 'id_too_long'],
    ['long message_id', 'track', { event: 'e', user_id: 'u', message_id: long }, 'id_too_long'],
    [
      '256 bytes of ids',
      'track',
      {
        event: 'e',
        user_id: 'x'.repeat(256),
        anonymous_id: 'ن'.repeat(128),
        message_id: 'x'.repeat(256),
      },
      'accepted',
    ],
    ['258 bytes in 129 letters', 'track', { event: 'e', user_id: 'ن'.repeat(129) }, 'id_too_long'],
    [
      'a lone surrogate weighs as U+FFFD',
      'track',
      { event: 'e', user_id: '\ud800'.repeat(86) },
      'id_too_long',
    ],
    ['alias', 'alias', { ...me, previous_id: 'p' }, 'accepted'],
    ['alias of nobody', 'alias', me, 'missing_previous_id'],
    ['alias: long id first', 'alias', { user_id: long }, 'id_too_long'],
    [
      'alias: previous_id has no bound',
      'alias',
      { ...me, previous_id: 'p'.repeat(100_000) },
      'accepted',
    ],
    ['identify ignores the name', 'identify', { ...me, event: '\u0000'.repeat(500) }, 'accepted'],
    ['page without name', 'page', me, 'accepted'],
    ['page with an invalid name', 'page', { ...me, event: 'a\u0001' }, 'event_name_invalid_chars'],
    ['screen with a long name', 'screen', { ...me, event: 'x'.repeat(129) }, 'event_name_too_long'],
    ['the path decides the type', 'page', { ...me, type: 'nonsense' }, 'accepted'],
    ['even when the type is no string', 'page', { ...me, type: 5 }, 'accepted'],
  ])('is decided by the rules of ingest 7.3 in their order: %s', (_, type, body, expected) => {
    expect(verdict(type, body)).toBe(expected);
  });
});

describe('malformed JSON (ingest 2.1 rule 3)', () => {
  test.each<[string, unknown]>([
    ['null', null],
    ['an array', [ok]],
    ['a string', 'x'],
    ['epoch timestamp', { ...ok, timestamp: 1_795_253_400 }],
    ['epoch sent_at', { ...ok, sent_at: 1_795_253_400 }],
    ['timestamp without offset', { ...ok, timestamp: '2026-11-21T10:00:00' }],
    ['empty timestamp', { ...ok, timestamp: '' }],
    ['user_id a number', { ...ok, user_id: 5 }],
    ['anonymous_id an object', { ...ok, anonymous_id: {} }],
    ['event a boolean', { ...ok, event: true }],
    ['message_id a number', { ...ok, message_id: 1 }],
    ['previous_id a number', { ...ok, previous_id: 1 }],
    ['properties an array', { ...ok, properties: [] }],
    ['traits a string', { ...ok, traits: 'x' }],
    ['context a number', { ...ok, context: 1 }],
    ['malformed before any rule', { properties: 1 }],
  ])('includes %s', (_, body) => {
    expect(verdict('track', body)).toBe('malformed');
    expect(batch({ batch: [ok, body] }).outcome).toBe('malformed');
  });

  test.each<[string, unknown]>([
    ['the body', [ok]],
    ['batch', { batch: ok }],
    ['context of the batch', { batch: [ok], context: 'x' }],
    ['sent_at of the batch', { batch: [ok], sent_at: 5 }],
    ['sent_at of an empty batch', { batch: [], sent_at: 5 }],
    ['an item', { batch: [ok, 5] }],
    ['a null item', { batch: [ok, null] }],
    ['a type that is no string', { batch: [{ ...ok, type: 5 }] }],
  ])('includes a batch with a wrong type of %s', (_, body) => {
    expect(batch(body).outcome).toBe('malformed');
  });

  test('does not include null fields, which are absent', () => {
    const nulls = {
      timestamp: null,
      sent_at: null,
      properties: null,
      traits: null,
      context: null,
      anonymous_id: null,
      previous_id: null,
    };
    expect(verdict('track', { ...ok, ...nulls })).toBe('accepted');
  });
});

describe('an accepted event', () => {
  test('has the decisions', () => {
    expect(
      single('track', {
        event: 'e',
        user_id: 'u',
        anonymous_id: 'a',
        message_id: 'm',
        timestamp: '2026-11-21T09:00:00Z',
      }),
    ).toEqual({
      outcome: 'decided',
      received: 1,
      accepted: [
        {
          index: 0,
          type: 'track',
          distinctId: 'u',
          message_id: 'm',
          generated: false,
          timestamp: NOW - 3_600_000,
          warnings: [],
        },
      ],
      rejected: [],
      warnings: [],
      counts: [],
    });
  });

  test('has well-formed ids', () => {
    expect(
      single('track', { event: 'e', anonymous_id: 'a\ud800', message_id: '\udc00' }),
    ).toMatchObject({
      accepted: [{ distinctId: 'a\ufffd', message_id: '\ufffd' }],
    });
  });

  test.each<[string, object, object[]]>([
    [
      'generated_message_id',
      { message_id: '' },
      [{ code: 'generated_message_id', field: 'message_id' }],
    ],
    [
      'timestamp_in_future',
      { timestamp: '2026-11-21T11:00:01Z' },
      [{ code: 'timestamp_in_future', field: 'timestamp' }],
    ],
    [
      'timestamp_too_old',
      { timestamp: '2026-10-01T00:00:00Z' },
      [{ code: 'timestamp_too_old', field: 'timestamp' }],
    ],
    [
      'unserialisable_property',
      { properties: { 'a b': [Infinity] } },
      [{ code: 'unserialisable_property', field: 'a_b' }],
    ],
    ['invalid_phone', { traits: { phone: 'x' } }, [{ code: 'invalid_phone', field: 'phone' }]],
    [
      'invalid_national_id',
      { traits: { national_id: '1' } },
      [{ code: 'invalid_national_id', field: 'national_id' }],
    ],
  ])('has the warning %s', (_, change, warnings) => {
    const decided = single('track', { ...ok, ...change });
    expect(decided).toMatchObject({ outcome: 'decided', warnings });
    expect(decided.outcome === 'decided' && decided.accepted[0]?.warnings.length).toBe(
      warnings.length,
    );
  });

  test('has no warnings for properties of an identify, which are not stored', () => {
    expect(single('identify', { ...me, properties: { a: Infinity } })).toMatchObject({
      warnings: [],
    });
  });
});

describe('a batch (ingest 4.4)', () => {
  test.each<[string, unknown, object]>([
    ['empty', { batch: [] }, { outcome: 'refused', code: 'batch_empty', reason: 'batch_empty' }],
    ['absent', {}, { outcome: 'refused', code: 'batch_empty' }],
    ['null', { batch: null }, { outcome: 'refused', code: 'batch_empty' }],
    [
      '501 items',
      { batch: Array.from({ length: 501 }, () => ok) },
      {
        outcome: 'refused',
        code: 'batch_too_large',
        reason: 'batch_too_large: 501 items, limit 500',
      },
    ],
    [
      '500 items',
      { batch: Array.from({ length: 500 }, () => ok) },
      { outcome: 'decided', received: 500 },
    ],
  ])('is refused or decided as a whole: %s', (_, body, expected) => {
    expect(batch(body)).toMatchObject(expected);
  });

  test('keeps the valid items beside invalid ones, with their positions', () => {
    const items = [
      ok,
      { ...ok, type: 'group' },
      { ...ok, type: undefined },
      { ...ok, user_id: undefined },
      { type: 'page', anonymous_id: 'a', message_id: 'm2' },
    ];
    const decided = batch({ batch: items });
    expect(decided).toMatchObject({
      outcome: 'decided',
      received: 5,
      accepted: [{ index: 0 }, { index: 4, type: 'page', distinctId: 'a' }],
      rejected: [
        { index: 1, code: 'unknown_type', reason: 'unknown_type: "group"' },
        { index: 2, reason: 'unknown_type: ""' },
        { index: 3, reason: 'missing_identity' },
      ],
    });
  });

  test('quotes an unknown type, truncated', () => {
    const decided = batch({ batch: [{ type: `"${'ن'.repeat(1000)}` }] });
    expect(decided.outcome === 'decided' && decided.rejected[0]?.reason).toBe(
      `unknown_type: "\\"${'ن'.repeat(31)}"`,
    );
  });

  test('corrects items without sent_at by its own', () => {
    const timestamp = '2026-11-21T08:00:00Z';
    const decided = batch({
      sent_at: '2026-11-21T09:00:00Z',
      batch: [
        { ...ok, timestamp },
        { ...ok, timestamp, sent_at: '2026-11-21T10:00:00Z' },
      ],
    });
    expect(decided).toMatchObject({
      accepted: [{ timestamp: NOW - 3_600_000 }, { timestamp: NOW - 2 * 3_600_000 }],
    });
  });

  test('lists fifty warnings and counts all, by SDK', () => {
    const items = Array.from({ length: 120 }, (_, n) => ({
      type: 'page',
      user_id: 'u',
      ...(n % 2 === 0 ? {} : { context: { library: { name: 'ios', version: '2' } } }),
    }));
    const decided = batch({ batch: items, context: { library: { name: 'web', version: '1' } } });
    if (decided.outcome !== 'decided') throw new Error(decided.outcome);
    expect(decided.warnings).toHaveLength(50);
    const count = { kind: 'warn', code: 'generated_message_id', field: 'message_id', count: 60 };
    expect(decided.counts).toEqual([
      { ...count, sdk: 'web/1' },
      { ...count, sdk: 'ios/2' },
    ]);
  });

  test('bounds the number of counts while totals stay exact', () => {
    const items = Array.from({ length: 500 }, (_, n) => ({
      ...ok,
      properties: { [`k${n}`]: Infinity },
    }));
    const decided = batch({ batch: items });
    if (decided.outcome !== 'decided') throw new Error(decided.outcome);
    expect(decided.counts.length).toBeLessThanOrEqual(257);
    expect(decided.counts.reduce((sum, { count }) => sum + count, 0)).toBe(500);
  });
});

test('an import decides items like a batch', () => {
  expect(decideImport({ items: [ok, { type: 'x' }], ...receipt })).toMatchObject({
    received: 2,
    accepted: [{ index: 0 }],
    rejected: [{ index: 1 }],
  });
});

describe('for any JSON', () => {
  test('every item is either accepted or rejected', () => {
    const body = fc.oneof(
      anyJson,
      fc.record(
        {
          batch: fc.array(fc.oneof(anyEnvelope, anyJson), { maxLength: 5 }),
          context: anyJson,
          sent_at: anyJson,
        },
        { requiredKeys: ['batch'] },
      ),
    );
    fc.assert(
      fc.property(body, (sent) => {
        const decided = batch(sent);
        if (decided.outcome !== 'decided') return;
        expect(decided.accepted.length + decided.rejected.length).toBe(decided.received);
        expect(
          new Set([...decided.accepted, ...decided.rejected].map(({ index }) => index)).size,
        ).toBe(decided.received);
      }),
      { numRuns: 1000 },
    );
  });

  test('accepted events have an event name, bounded ids, a time in the window and counted warnings', () => {
    fc.assert(
      fc.property(
        anyEnvelope,
        fc.constantFrom<Type>('track', 'identify', 'page', 'screen', 'alias'),
        (sent, type) => {
          const decided = single(type, sent);
          if (decided.outcome !== 'decided') return;
          for (const event of decided.accepted) {
            expect(event.distinctId).not.toBe('');
            expect(Buffer.byteLength(event.distinctId)).toBeLessThanOrEqual(256);
            expect(event.generated).toBe(event.message_id === '');
            expect(event.timestamp).toBeGreaterThanOrEqual(NOW - 30 * DAY);
            expect(decided.counts.reduce((sum, { count }) => sum + count, 0)).toBe(
              event.warnings.length,
            );
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});
