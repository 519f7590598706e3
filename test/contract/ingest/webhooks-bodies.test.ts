import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { countersAfter, hostedHeaders, pluginHeaders } from '../../support/webhooks/connection.ts';
import { checkout, deliveryText, order, refund } from '../../support/webhooks/hosted-payloads.ts';
import { pluginOrder } from '../../support/webhooks/plugin-payloads.ts';
import { deliver, fresh, NOTHING, NOW, ORDER, SECRET } from './webhooks-host.ts';

describe('the body of a delivery (ingest 4.6, 8)', () => {
  const padded = (bytes: number) => `{"id":1,"email":"a@b.c","note":"${'x'.repeat(bytes - 34)}"}`;

  it('of exactly 1048576 bytes is accepted', async () => {
    const body = padded(1_048_576);
    expect(body).toHaveLength(1_048_576);
    expect(
      await deliver(
        await fresh('hosted_storefront'),
        body,
        hostedHeaders('orders/create', body, SECRET),
      ),
    ).toMatchObject({
      answer: { accepted: 1 },
    });
  });

  it.each([
    ['of one byte more', () => padded(1_048_577), {}],
    ['that is not gzip as announced', () => ORDER, { 'Content-Encoding': 'gzip' }],
    ['of an unknown encoding', () => ORDER, { 'Content-Encoding': 'br' }],
    [
      'that decodes to more than the limit',
      () => gzipSync(padded(1_048_577)),
      { 'Content-Encoding': 'gzip' },
    ],
  ])('%s is answered: unreadable body', async (_, body, headers) => {
    const connection = await fresh('hosted_storefront');
    const { sent, ...delivered } = await deliver(connection, body(), headers);
    expect(delivered).toEqual({
      status: 400,
      answer: { status: 'error', message: 'unreadable body' },
    });
    expect(sent.headers['x-service-trace']).toMatch(/^[0-9a-f]{16}$/);
    expect(await countersAfter(connection, 1)).toEqual({
      received: 1,
      accepted: 0,
      rejected: 1,
      last_error: 'unreadable body',
    });
  });

  it('may be gzip: the signature is that of the decoded bytes', async () => {
    const connection = await fresh('hosted_storefront');
    const headers = {
      ...hostedHeaders('orders/create', ORDER, SECRET),
      'Content-Encoding': 'gzip',
    };
    expect(await deliver(connection, gzipSync(ORDER), headers)).toMatchObject({
      answer: { status: 'ok', accepted: 1 },
    });
  });

  it.each([
    ['not JSON', 'webhook_id=12', 'the body is not a JSON object'],
    ['empty', '', 'the body is not a JSON object'],
    ['an array', '[1]', 'the body is not a JSON object'],
    ['no person', deliveryText(checkout(NOW, { email: null })), 'no identity'],
    [
      'a user id beyond 256 bytes',
      deliveryText(order(NOW, { email: `${'x'.repeat(300)}@b.c` })),
      'id_too_long',
    ],
    ['a refund, which names no customer', deliveryText(refund(NOW)), 'no identity'],
  ])(
    'without a usable event (%s) is answered 200, with the reason in last_error',
    async (_, body, reason) => {
      const connection = await fresh('hosted_storefront');
      expect(
        await deliver(connection, body, hostedHeaders('refunds/create', body, SECRET)),
      ).toMatchObject(NOTHING);
      expect(await countersAfter(connection, 1)).toEqual({
        received: 1,
        accepted: 0,
        rejected: 0,
        last_error: reason,
      });
    },
  );
});

describe('skipped deliveries (ingest 4.6)', () => {
  it.each([
    [
      'hosted_storefront',
      hostedHeaders('orders/updated', ORDER, SECRET),
      ORDER,
      'topic not handled: orders/updated',
    ],
    ...[pluginOrder(NOW, { status: 'checkout-draft' }), pluginOrder(NOW, { status: 'trash' })].map(
      (body) => {
        const text = JSON.stringify(body);
        return [
          'plugin_storefront',
          pluginHeaders('order.updated', text, SECRET),
          text,
          `order.${String(body['status'])}`,
        ] as const;
      },
    ),
    [
      'plugin_storefront',
      pluginHeaders('customer.created', '{}', SECRET),
      '{}',
      'topic not handled: customer.created',
    ],
    [
      'event_pipeline',
      { Authorization: 'a' },
      '{"type":"alias","userId":"u"}',
      'no event in the body',
    ],
  ] as const)('of %s have their reason in last_error', async (source, headers, body, reason) => {
    const connection = await fresh(source, { secret: source === 'event_pipeline' ? 'a' : SECRET });
    expect(await deliver(connection, body, { ...headers })).toMatchObject(NOTHING);
    expect(await countersAfter(connection, 1)).toEqual({
      received: 1,
      accepted: 0,
      rejected: 0,
      last_error: reason,
    });
  });

  it('truncate a long reason to 500 bytes between two characters, and the next success clears it', async () => {
    const connection = await fresh('plugin_storefront');
    const long = JSON.stringify(pluginOrder(NOW, { status: `${'س'.repeat(400)}\u0000` }));
    await deliver(connection, long, pluginHeaders('order.updated', long, SECRET));
    const { last_error } = await countersAfter(connection, 1);
    expect(last_error).toBe(`order.${'س'.repeat(247)}`);
    const good = JSON.stringify(pluginOrder(NOW));
    expect(
      await deliver(connection, good, pluginHeaders('order.updated', good, SECRET)),
    ).toMatchObject({ answer: { status: 'ok', accepted: 1 } });
    expect(await countersAfter(connection, 2)).toEqual({
      received: 2,
      accepted: 1,
      rejected: 0,
      last_error: '',
    });
  });
});
