import { describe, expect, it } from 'vitest';
import { WEBHOOK_SOURCES } from '../../events/webhooks/sources.ts';
import { readHeaders, tryDelivery } from './webhook-try.ts';

const now = Date.UTC(2026, 10, 21, 12);
const attempt = (
  source: (typeof WEBHOOK_SOURCES)[number],
  body: unknown,
  headers: Record<string, string> = {},
) => tryDelivery({ source, headers, raw: Buffer.from(JSON.stringify(body)), now });

describe('webhook try', () => {
  it('prints the normalised event that would be stored', () => {
    const order = {
      order_id: 5,
      total_price: 100,
      customer: { mobile: '۰۹۱۲۱۲۳۴۵۶۷', name: 'علي' },
      items: [{ product_id: 1, title: 'كفش' }],
    };
    expect(attempt('retail_marketplace', order, { 'x-topic': 'order.returned' })).toEqual({
      events: [
        expect.objectContaining({
          event: 'order_refunded',
          user_id: '+989121234567',
          timestamp: '2026-11-21T12:00:00.000Z',
          properties: expect.objectContaining({ item_count: 1, product_name: 'كفش' }) as unknown,
          stored: expect.objectContaining({
            source: 'webhook',
            revenue: 100,
            currency: 'IRR',
            properties: expect.objectContaining({
              order_id: '5',
              item_count: '1',
              product_name: 'کفش',
            }) as unknown,
            profile: { first_name: 'علی', phone: '+989121234567' },
            traits: { phone_operator: 'mci' },
          }) as unknown,
        }),
      ],
    });
  });

  it('prints why an event is skipped or rejected', () => {
    expect(attempt('payment_gateway', { status: 'NOK' })).toEqual({
      skipped: 'payment not settled: NOK',
    });
    expect(
      attempt('event_pipeline', { type: 'track', event: 'x'.repeat(129), userId: 'u' }),
    ).toEqual({ skipped: 'event_name_too_long' });
    const batch = [
      { type: 'track', event: 'x'.repeat(129), userId: 'u' },
      { type: 'track', event: 'x', userId: 'u' },
    ];
    expect(attempt('event_pipeline', { batch })).toMatchObject({
      events: [{ event: 'x' }],
      rejected: [{ index: 0, reason: 'event_name_too_long' }],
    });
  });

  it('reports that a timestamp is clamped', () => {
    const click = { user_id: 'u', click_id: 1, created_at: '2027-01-01' };
    expect(attempt('price_comparison', click)).toMatchObject({
      events: [
        { timestamp: '2026-11-21T12:00:00.000Z', warnings: [{ code: 'timestamp_in_future' }] },
      ],
    });
  });

  it.each(WEBHOOK_SOURCES)('skips an empty body of %s', (source) =>
    expect(attempt(source, {})).toHaveProperty('skipped'),
  );
});

describe('--header', () => {
  it('is parsed as a header', () => {
    expect(readHeaders(['X-Storefront-Topic:  orders/create ', 'a: b: c', 'E:'])).toEqual({
      'x-storefront-topic': 'orders/create',
      a: 'b: c',
      e: '',
    });
  });
  it.each(['x', ': y', 'a b: c'])('is refused when it is %j', (line) =>
    expect(() => readHeaders([line])).toThrow(/expected 'NAME: VALUE'/),
  );
});
