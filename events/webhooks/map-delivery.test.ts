import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideImport } from '../validate.ts';
import { mapDelivery } from './map-delivery.ts';
import { WEBHOOK_SOURCES } from './sources.ts';

const NOW = Date.UTC(2026, 10, 21);
const source = fc.constantFrom(...WEBHOOK_SOURCES);
const word = fc.constantFrom(
  'order.created',
  'orders/create',
  'refunds/create',
  'customers/create',
  'checkouts/update',
  'click',
  '',
  '__proto__',
  'x',
);
const headers = fc.record({
  'x-storefront-topic': word,
  'x-plugin-webhook-topic': word,
  'x-plugin-webhook-resource': word,
  'x-webhook-topic': word,
});

/** Bodies that know the fields which the mappings read, with any value under them. */
const FIELDS = [
  'id order_id status created_at total_price total customer items line_items refund_line_items transactions billing email phone mobile name amount',
  'product ref_id click_id user_id price type event userId anonymousId messageId timestamp properties traits context batch date_created_gmt currency',
]
  .join(' ')
  .split(' ');
const leaf = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom(
    'track',
    'identify',
    'page',
    'screen',
    'processing',
    'OK',
    'refund',
    '09121234567',
    'a@b.c',
    '2026-03-21',
    '0000-01-01T00:00:00+23:59',
    '0',
  ),
);
const { body } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, leaf, tie('body'), fc.array(tie('value'), { maxLength: 3 })),
  body: fc.dictionary(fc.oneof(fc.constantFrom(...FIELDS), fc.string()), tie('value'), {
    maxKeys: 12,
  }),
}));

describe('mapDelivery', () => {
  it('never throws for any bytes', () => {
    fc.assert(
      fc.property(source, headers, fc.uint8Array({ maxLength: 200 }), (from, sent, raw) => {
        expect(mapDelivery({ source: from, headers: sent, raw }).outcome).toMatch(
          /^(events|skip)$/,
        );
      }),
      { numRuns: 500 },
    );
  });

  it('returns valid batch items for any fields', () => {
    fc.assert(
      fc.property(source, headers, body, (from, sent, value) => {
        const mapping = mapDelivery({
          source: from,
          headers: sent,
          raw: Buffer.from(JSON.stringify(value)),
        });
        if (mapping.outcome === 'skip') {
          expect(mapping.reason).not.toBe('');
          return;
        }
        expect(mapping.events.length).toBeGreaterThan(0);
        const items = JSON.parse(JSON.stringify(mapping.events)) as unknown[];
        expect(decideImport({ items, now: NOW, windowMs: 3650 * 86_400_000 }).outcome).toBe(
          'decided',
        );
        for (const one of mapping.events)
          expect((one.user_id ?? '') + (one.anonymous_id ?? '')).not.toBe('');
      }),
      { numRuns: 3000 },
    );
  });

  it('returns the same events for the same bytes', () => {
    fc.assert(
      fc.property(source, headers, body, (from, sent, value) => {
        const delivery = { source: from, headers: sent, raw: Buffer.from(JSON.stringify(value)) };
        expect(mapDelivery(delivery)).toEqual(mapDelivery(delivery));
      }),
      { numRuns: 300 },
    );
  });

  it('ignores a byte-order mark', () => {
    const raw = Buffer.from('\uFEFF{"click_id":1,"user_id":"u"}');
    expect(mapDelivery({ source: 'price_comparison', headers: {}, raw }).outcome).toBe('events');
  });
});
