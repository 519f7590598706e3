import { describe, expect, it } from 'vitest';
import { deliver, onlyEvent as event } from './testing/deliver.ts';

describe('plugin_storefront', () => {
  const plugin = (
    body: unknown,
    headers: Record<string, string> = { 'x-plugin-webhook-topic': 'order.updated' },
  ) => deliver('plugin_storefront', body, headers);
  const ORDER = {
    id: 727,
    number: '727-A',
    status: 'processing',
    currency: 'USD',
    date_created_gmt: '2026-03-21T10:00:00',
    total: '29.35',
    billing: {
      first_name: 'John',
      last_name: 'Doe',
      city: 'San Francisco',
      email: ' John.Doe@example.com ',
      phone: '(555) 555-5555',
    },
    line_items: [
      { product_id: 93, name: 'Woo Single #1', quantity: 2, sku: '' },
      { product_id: 22, name: 'Ship Your Idea', quantity: 1 },
    ],
  };

  it('maps an order to one event with all its fields', () => {
    expect(event(plugin(ORDER))).toEqual({
      type: 'track',
      event: 'order_completed',
      user_id: 'john.doe@example.com',
      message_id: 'plugin_storefront:order_completed:727:processing',
      timestamp: '2026-03-21T06:30:00.000Z',
      properties: {
        order_id: '727',
        order_number: '727-A',
        status: 'processing',
        source: 'plugin_storefront',
        product_id: '93',
        product_name: 'Woo Single #1',
        item_count: '2',
        revenue: 29.35,
        currency: 'USD',
      },
      traits: {
        email: 'john.doe@example.com',
        phone: '(555) 555-5555',
        first_name: 'John',
        last_name: 'Doe',
        city: 'San Francisco',
      },
    });
  });

  it.each([
    ['processing', 'order_completed'],
    ['completed', 'order_completed'],
    ['cancelled', 'order_cancelled'],
    ['failed', 'order_cancelled'],
    ['refunded', 'order_refunded'],
    ['pending', 'checkout_started'],
    ['on-hold', 'checkout_started'],
  ])('maps status %s to %s', (status, name) => {
    expect(event(plugin({ ...ORDER, status }))).toMatchObject({
      event: name,
      message_id: `plugin_storefront:${name}:727:${status}`,
    });
  });

  it.each([
    [{ ...ORDER, status: 'checkout-draft' }, 'order.checkout-draft'],
    [{ ...ORDER, status: 'constructor' }, 'order.constructor'],
    [{ ...ORDER, billing: { email: ' ', phone: '' } }, 'no identity'],
    [{ ...ORDER, billing: null }, 'no identity'],
  ])('skips an order with an unknown status or without an identity', (body, reason) =>
    expect(plugin(body)).toEqual({ outcome: 'skip', reason }),
  );

  it.each([
    [{ 'x-plugin-webhook-resource': 'order', 'x-plugin-webhook-event': 'created' }, 'events'],
    [{ 'x-plugin-webhook-resource': 'order' }, 'events'],
    [
      {
        'x-plugin-webhook-topic': ' ',
        'x-plugin-webhook-resource': 'order',
        'x-plugin-webhook-event': 'deleted',
      },
      'skip',
    ],
    [{ 'x-plugin-webhook-topic': 'customer.created' }, 'skip'],
    [{}, 'skip'],
  ])('finds the topic in the headers %j, or skips the delivery', (headers, outcome) =>
    expect(plugin(ORDER, headers as Record<string, string>).outcome).toBe(outcome),
  );

  it('identifies a guest by the phone with ASCII digits', () => {
    expect(event(plugin({ ...ORDER, billing: { phone: '۰۹۱۲۱۲۳۴۵۶۷' } })).user_id).toBe(
      '09121234567',
    );
  });

  it.each([['0.00'], ['-3'], ['free'], [null]])('has no revenue with a total of %j', (total) => {
    const { properties } = event(plugin({ ...ORDER, total }));
    expect(properties).not.toHaveProperty('revenue');
    expect(properties).not.toHaveProperty('currency');
  });

  it('falls back to IRR, to the order id and to no lines', () => {
    const { properties } = event(plugin({ ...ORDER, currency: '', number: '', line_items: [] }));
    expect(properties).toEqual({
      order_id: '727',
      order_number: '727',
      status: 'processing',
      source: 'plugin_storefront',
      revenue: 29.35,
      currency: 'IRR',
    });
  });

  it.each([[0], ['0'], [''], [null]])('does not deduplicate an order with id %j', (id) =>
    expect(event(plugin({ ...ORDER, id })).message_id).toBe(''),
  );
});

describe('hosted_storefront', () => {
  const hosted = (topic: string, body: unknown) =>
    deliver('hosted_storefront', body, { 'x-storefront-topic': topic });
  const ORDER = {
    id: 450789469,
    order_number: 1001,
    email: 'Bob@Example.com',
    phone: '+15125550100',
    created_at: '2026-03-21T10:00:00-04:00',
    cancelled_at: '2026-03-22T10:00:00Z',
    currency: 'CAD',
    total_price: '598.94',
    customer: {
      id: 207119551,
      first_name: 'Bob',
      last_name: 'Norman',
      email_marketing_consent: { state: 'not_subscribed' },
    },
    billing_address: { city: 'Ottawa', province: 'Ontario', country: 'Canada' },
    line_items: [
      { product_id: 632910392, sku: 'IPOD-GREEN', title: 'IPod Nano', quantity: 1 },
      { product_id: 632910393, sku: 'IPOD-RED', title: 'IPod Red', quantity: 1 },
      { product_id: 1, title: 'Card' },
    ],
  };

  it('maps an order of several lines to one event', () => {
    expect(event(hosted('orders/create', ORDER))).toEqual({
      type: 'track',
      event: 'order_completed',
      user_id: 'bob@example.com',
      message_id: 'hosted_storefront:order_completed:450789469',
      timestamp: '2026-03-21T14:00:00.000Z',
      properties: {
        order_id: '450789469',
        order_number: '1001',
        source: 'hosted_storefront',
        product_id: 'IPOD-GREEN',
        product_name: 'IPod Nano',
        item_count: '3',
        product_ids: 'IPOD-GREEN,IPOD-RED',
        revenue: 598.94,
        currency: 'CAD',
      },
      traits: {
        email: 'bob@example.com',
        phone: '+15125550100',
        first_name: 'Bob',
        last_name: 'Norman',
        city: 'Ottawa',
        region: 'Ontario',
        country: 'Canada',
        email_opt_in: false,
      },
    });
  });

  it.each([
    ['orders/create', 'order_completed'],
    ['orders/paid', 'order_completed'],
    ['orders/cancelled', 'order_cancelled'],
    ['refunds/create', 'order_refunded'],
    ['checkouts/create', 'checkout_started'],
    ['checkouts/update', 'checkout_started'],
  ])('maps topic %s to %s', (topic, name) => expect(event(hosted(topic, ORDER)).event).toBe(name));

  it.each(['', 'orders/updated', 'products/create', 'app/uninstalled'])('skips topic %j', (topic) =>
    expect(hosted(topic, ORDER)).toEqual({
      outcome: 'skip',
      reason: `topic not handled: ${topic}`,
    }),
  );

  it('identifies a person by e-mail, else phone, else platform id', () => {
    expect(event(hosted('orders/create', { ...ORDER, email: '' })).user_id).toBe('+15125550100');
    expect(event(hosted('orders/create', { ...ORDER, email: null, phone: null })).user_id).toBe(
      '207119551',
    );
    expect(
      event(
        hosted('orders/create', { ...ORDER, email: '', phone: '', customer: { email: 'C@x.ir' } }),
      ).user_id,
    ).toBe('c@x.ir');
  });

  it('skips a checkout without an identity', () => {
    expect(hosted('checkouts/create', { id: 1, token: 't', email: null, phone: null })).toEqual({
      outcome: 'skip',
      reason: 'no identity',
    });
  });

  it('maps a refund to its order and customer with the refunded amount', () => {
    const refund = {
      id: 890088186,
      order_id: 450789469,
      user_id: 548380009,
      created_at: '2026-03-25T10:00:00Z',
      refund_line_items: [
        {
          quantity: 1,
          subtotal: 199,
          total_tax: 3.98,
          line_item: { product_id: 5, sku: 'S', title: 'T' },
        },
      ],
      transactions: [
        { kind: 'refund', status: 'success', amount: '100.10', currency: 'USD' },
        { kind: 'refund', status: 'success', amount: '0.20', currency: 'USD' },
        { kind: 'refund', status: 'failure', amount: '9.00', currency: 'USD' },
        { kind: 'sale', status: 'success', amount: '5.00', currency: 'USD' },
      ],
    };
    expect(hosted('refunds/create', refund)).toEqual({ outcome: 'skip', reason: 'no identity' });
    const mapped = event(hosted('refunds/create', { ...refund, email: 'a@b.c' }));
    expect(mapped).toMatchObject({
      message_id: 'hosted_storefront:order_refunded:450789469',
      timestamp: '2026-03-25T10:00:00.000Z',
      properties: {
        order_id: '450789469',
        product_id: 'S',
        item_count: '1',
        revenue: 100.3,
        currency: 'USD',
      },
    });
    expect(
      event(hosted('refunds/create', { ...refund, email: 'a@b.c', transactions: [] })).properties,
    ).toMatchObject({
      revenue: 202.98,
      currency: 'IRR',
    });
  });

  it('keeps all digits of a 64-bit id', () => {
    const raw = JSON.stringify(ORDER).replace('"id":450789469', '"id":820982911946154508');
    expect(event(hosted('orders/create', raw)).message_id).toBe(
      'hosted_storefront:order_completed:820982911946154508',
    );
  });

  it('includes the address at which a checkout can be resumed', () => {
    expect(
      event(
        hosted('checkouts/update', {
          id: 4,
          email: 'a@b.c',
          abandoned_checkout_url: 'https://x.ir/c',
        }),
      ).properties,
    ).toEqual({
      order_id: '4',
      order_number: '4',
      source: 'hosted_storefront',
      checkout_url: 'https://x.ir/c',
    });
  });

  it.each(['customers/create', 'customers/update'])('maps %s to an identify', (topic) => {
    const customer = {
      id: 7064055,
      email: 'Sara@Example.ir',
      first_name: 'سارا',
      phone: null,
      created_at: '2026-03-21T10:00:00Z',
      email_marketing_consent: { state: 'subscribed' },
      default_address: { city: 'تهران', country: 'Iran', phone: '09121234567' },
    };
    const raw = JSON.stringify(customer).replace('"id":7064055', '"id":706405506930370084');
    expect(event(hosted(topic, raw))).toEqual({
      type: 'identify',
      user_id: 'sara@example.ir',
      message_id: 'hosted_storefront:identify:706405506930370084',
      timestamp: '2026-03-21T10:00:00.000Z',
      traits: {
        email: 'sara@example.ir',
        phone: '09121234567',
        first_name: 'سارا',
        city: 'تهران',
        country: 'Iran',
        email_opt_in: true,
      },
    });
  });
});
