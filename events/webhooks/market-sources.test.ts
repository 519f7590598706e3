import { describe, expect, it } from 'vitest';
import type { Mapping } from './mapping.ts';
import type { WebhookSource } from './sources.ts';
import { deliver, onlyEvent as event } from './testing/deliver.ts';

function map(source: WebhookSource, body: unknown, topic?: string): Mapping {
  return deliver(source, body, topic === undefined ? {} : { 'x-webhook-topic': topic });
}

const RETAIL = {
  order_id: 5012,
  status: 'confirmed',
  created_at: '2026-03-21T10:00:00',
  total_price: 1_250_000,
  customer: { id: 77, mobile: '۰۹۱۲ ۱۲۳ ۴۵۶۷', name: 'سارا' },
  items: [
    { product_id: 31, title: 'کفش', quantity: 2, price: 500_000 },
    { product_id: 32, title: 'جوراب', quantity: 1, price: 250_000 },
  ],
};

describe('retail_marketplace', () => {
  it('maps an order to one event with all its fields', () => {
    expect(event(map('retail_marketplace', RETAIL))).toEqual({
      type: 'track',
      event: 'order_completed',
      user_id: '+989121234567',
      message_id: 'retail_marketplace:order_completed:5012',
      timestamp: '2026-03-21T06:30:00.000Z',
      properties: {
        order_id: '5012',
        source: 'retail_marketplace',
        currency: 'IRR',
        revenue: 1_250_000,
        item_count: 2,
        product_id: '31',
        product_name: 'کفش',
      },
      traits: { first_name: 'سارا', phone: '+989121234567' },
    });
  });

  it.each([
    ['', 'order_completed'],
    ['order.created', 'order_completed'],
    ['order.confirmed', 'order_completed'],
    ['ORDER.CONFIRMED ', 'order_completed'],
    ['order.cancelled', 'order_cancelled'],
    ['order.canceled', 'order_cancelled'],
    ['order.returned', 'order_refunded'],
    ['order.refunded', 'order_refunded'],
  ])('maps topic %j to %s', (topic, name) =>
    expect(event(map('retail_marketplace', RETAIL, topic)).event).toBe(name),
  );

  it.each([
    ['another topic', RETAIL, 'order.shipped', 'topic not handled: order.shipped'],
    ['nobody', { ...RETAIL, customer: { id: 0, mobile: '021', name: 'x' } }, '', 'no identity'],
    ['no customer', { ...RETAIL, customer: null }, '', 'no identity'],
    ['a body that is no object', [RETAIL], '', 'the body is not a JSON object'],
    ['no JSON', 'order_id=1', '', 'the body is not a JSON object'],
  ])('skips %s', (_, body, topic, reason) =>
    expect(map('retail_marketplace', body, topic)).toEqual({ outcome: 'skip', reason }),
  );

  it('identifies a person without a valid phone by the platform id', () => {
    expect(
      event(map('retail_marketplace', { ...RETAIL, customer: { id: 77, mobile: '123' } })).user_id,
    ).toBe('77');
  });

  it('deduplicates by the person without an order id, and not at all for order id 0', () => {
    expect(event(map('retail_marketplace', { ...RETAIL, order_id: undefined })).message_id).toBe(
      'retail_marketplace:order_completed:+989121234567',
    );
    expect(event(map('retail_marketplace', { ...RETAIL, order_id: 0 })).message_id).toBe('');
  });

  it('keeps all digits of a 64-bit id', () => {
    const text = JSON.stringify(RETAIL).replace('"order_id":5012', '"order_id":820982911946154508');
    expect(event(map('retail_marketplace', text))).toMatchObject({
      message_id: 'retail_marketplace:order_completed:820982911946154508',
      properties: { order_id: '820982911946154508' },
    });
  });
});

describe('handmade_marketplace', () => {
  const BODY = {
    id: 9,
    status: 'paid',
    created_at: '2026-03-21 10:00:00',
    amount: '480000',
    customer: { id: 4, mobile: '09121234567', username: 'narges' },
    product: { id: 88, title: 'سبد' },
  };

  it('maps an order to one event', () => {
    expect(event(map('handmade_marketplace', BODY))).toEqual({
      type: 'track',
      event: 'order_completed',
      user_id: '+989121234567',
      message_id: 'handmade_marketplace:order_completed:9',
      timestamp: '2026-03-21T06:30:00.000Z',
      properties: {
        order_id: '9',
        source: 'handmade_marketplace',
        currency: 'IRR',
        revenue: 480_000,
        product_id: '88',
        product_name: 'سبد',
      },
      traits: { username: 'narges', phone: '+989121234567' },
    });
  });

  it('omits the product when there is none', () => {
    expect(event(map('handmade_marketplace', { ...BODY, product: null })).properties).toEqual({
      order_id: '9',
      source: 'handmade_marketplace',
      currency: 'IRR',
      revenue: 480_000,
    });
  });

  it.each([
    ['', 'order_completed'],
    ['order.paid', 'order_completed'],
    ['order.created', 'order_completed'],
    ['order.cancelled', 'order_cancelled'],
    ['order.canceled', 'order_cancelled'],
  ])('maps topic %j to %s', (topic, name) =>
    expect(event(map('handmade_marketplace', BODY, topic)).event).toBe(name),
  );

  it('skips other topics', () =>
    expect(map('handmade_marketplace', BODY, 'order.returned')).toMatchObject({
      reason: 'topic not handled: order.returned',
    }));
});

describe('price_comparison', () => {
  const BODY = {
    click_id: 'c-1',
    product_id: 5,
    title: 'گوشی',
    price: 120,
    user_id: 'u-9',
    mobile: '',
    created_at: '2026-03-21',
  };

  it.each(['', 'click', 'referral'])('maps topic %j to a product view', (topic) => {
    expect(event(map('price_comparison', BODY, topic))).toEqual({
      type: 'track',
      event: 'product_viewed',
      user_id: 'u-9',
      message_id: 'price_comparison:product_viewed:c-1',
      timestamp: '2026-03-20T20:30:00.000Z',
      properties: {
        source: 'price_comparison',
        click_id: 'c-1',
        product_id: '5',
        product_name: 'گوشی',
        price: 120,
      },
    });
  });

  it('omits absent fields', () => {
    expect(
      event(map('price_comparison', { click_id: 'c', mobile: '+98 912 123 4567' })).properties,
    ).toEqual({
      source: 'price_comparison',
      click_id: 'c',
    });
  });

  it('skips an order', () =>
    expect(map('price_comparison', BODY, 'order.created')).toMatchObject({ outcome: 'skip' }));
});

describe('payment_gateway', () => {
  const BODY = {
    authority: 'A1',
    ref_id: 42,
    amount: 15_000,
    status: ' ok ',
    email: 'Sara@Example.IR',
    mobile: '',
    order_id: 'o-7',
    created_at: '2026-03-21T10:00:00Z',
  };

  it('converts toman to rials', () => {
    expect(event(map('payment_gateway', BODY))).toEqual({
      type: 'track',
      event: 'payment_completed',
      user_id: 'sara@example.ir',
      message_id: 'payment_gateway:payment_completed:o-7',
      timestamp: '2026-03-21T10:00:00.000Z',
      properties: {
        source: 'payment_gateway',
        ref_id: '42',
        authority: 'A1',
        currency: 'IRR',
        order_id: 'o-7',
        revenue: 150_000,
        amount_toman: 15_000,
      },
      traits: { email: 'sara@example.ir' },
    });
  });

  it.each(['', 'OK', '100', 'success', 100])('maps a payment with status %j', (status) =>
    expect(map('payment_gateway', { ...BODY, status }).outcome).toBe('events'),
  );

  it.each([
    ['NOK', 'payment not settled: NOK'],
    [' failed ', 'payment not settled: failed'],
    [-21, 'payment not settled: -21'],
    ['1000', 'payment not settled: 1000'],
  ])('skips a payment with status %j', (status, reason) =>
    expect(map('payment_gateway', { ...BODY, status })).toEqual({ outcome: 'skip', reason }),
  );

  it.each([[0], ['0'], [''], [undefined]])(
    'deduplicates a payment with order id %j by its ref_id',
    (order_id) => {
      const mapped = event(map('payment_gateway', { ...BODY, order_id }));
      expect(mapped.message_id).toBe('payment_gateway:payment_completed:42');
      expect(mapped.properties).not.toHaveProperty('order_id');
    },
  );

  it('prefers the phone over the e-mail', () => {
    expect(event(map('payment_gateway', { ...BODY, mobile: '00989121234567' })).user_id).toBe(
      '+989121234567',
    );
  });

  it('skips a delivery without an identity', () =>
    expect(map('payment_gateway', { ...BODY, email: '' })).toEqual({
      outcome: 'skip',
      reason: 'no identity',
    }));
});
