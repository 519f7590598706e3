import fc from 'fast-check';
import { expect, test } from 'vitest';
import { normaliseProperties } from '../properties.ts';
import { relayPayload } from './payload.ts';

const TIME = Date.parse('2026-11-21T10:00:00.5Z');

function payload(
  properties: Record<string, unknown>,
  over: { user_id?: string; anonymous_id?: string } = {},
): string {
  const { text, numbers } = normaliseProperties(properties);
  return relayPayload({
    event: 'order_completed',
    user_id: 'u1',
    anonymous_id: '',
    timestamp: TIME,
    properties: text,
    property_numbers: numbers,
    message_id: 'm1',
    ...over,
  });
}

test('a payload has event, user_id, anonymous_id, timestamp, properties, message_id in this order (ingest 6.2)', () => {
  expect(
    payload(
      {
        order_id: 'A-1',
        total: 1250000.5,
        gift: true,
        paid: false,
        sku: '007',
        items: [{ id: 1 }],
      },
      { anonymous_id: 'a1' },
    ),
  ).toBe(
    '{"event":"order_completed","user_id":"u1","anonymous_id":"a1","timestamp":"2026-11-21T10:00:00.500Z",' +
      '"properties":{"order_id":"A-1","total":1250000.5,"gift":true,"paid":false,"sku":"007","items":"[{\\"id\\":1}]"},"message_id":"m1"}',
  );
});

test('a payload omits empty identities and empty properties', () => {
  expect(payload({}, { user_id: '', anonymous_id: 'a' })).toBe(
    '{"event":"order_completed","anonymous_id":"a","timestamp":"2026-11-21T10:00:00.500Z","message_id":"m1"}',
  );
});

test('a payload has every scalar as it was sent', () => {
  const scalar = fc.oneof(
    fc.string(),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  fc.assert(
    fc.property(
      fc.dictionary(fc.stringMatching(/^[a-z][a-z_]{0,8}[a-z]$/), scalar, { minKeys: 1 }),
      (sent) => {
        const delivered = (JSON.parse(payload(sent)) as { properties: Record<string, unknown> })
          .properties;
        expect(Object.keys(delivered).sort()).toEqual(Object.keys(sent).sort());
        for (const [key, value] of Object.entries(sent)) {
          if (typeof value === 'string')
            expect(delivered[key]).toBe(normaliseProperties({ key: value }).text['key']);
          else expect(delivered[key]).toBe(value === 0 ? 0 : value);
        }
      },
    ),
  );
});

test('a payload contains a property whose name objects inherit', () => {
  expect(payload({ constructor: 'x', toString: 1 })).toContain(
    '"properties":{"constructor":"x","toString":1}',
  );
});
