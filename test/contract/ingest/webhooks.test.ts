import { beforeAll, describe, expect, it } from 'vitest';
import { signatureOf } from '../../../events/webhooks/signature.ts';
import { WEBHOOK_SOURCES, type WebhookSource } from '../../../events/webhooks/sources.ts';
import { admin, readyStack } from '../../support/stack.ts';
import {
  bareAccount,
  countersAfter,
  createConnection,
  hostedHeaders,
  pluginHeaders,
  withDatabase,
  type TestConnection,
} from '../../support/webhooks/connection.ts';
import { deliveryText, order } from '../../support/webhooks/hosted-payloads.ts';
import { pluginOrder } from '../../support/webhooks/plugin-payloads.ts';
import { ask, CORS, specified } from './host.ts';
import { deliver, fresh, NOTHING, NOW, ORDER, SECRET } from './webhooks-host.ts';

const UNKNOWN = { status: 404, answer: { status: 'error', message: 'unknown webhook' } };
const MISMATCH = { status: 401, answer: { status: 'error', message: 'signature mismatch' } };

const connections = new Map<WebhookSource, TestConnection>();

beforeAll(async () => {
  const accountId = await bareAccount();
  for (const source of WEBHOOK_SOURCES)
    connections.set(source, await createConnection({ accountId, source, secret: SECRET }));
});

function connectionOf(source: WebhookSource): TestConnection {
  const connection = connections.get(source);
  if (!connection) throw new Error(`no connection of ${source}`);
  return connection;
}

describe('the path of a webhook (ingest 4.6)', () => {
  it.each([
    ['an unknown source', (token: string) => ({ source: 'shoppy', token })],
    ['the token of another source', (token: string) => ({ source: 'plugin_storefront', token })],
    [
      'an unknown token',
      (token: string) => ({
        source: 'hosted_storefront',
        token: token.split('').reverse().join(''),
      }),
    ],
    ['a malformed token', () => ({ source: 'hosted_storefront', token: 'x' })],
    ['a very long token', () => ({ source: 'hosted_storefront', token: 'x'.repeat(3000) })],
    [
      'a token with strange characters',
      () => ({ source: 'hosted_storefront', token: "%00'%22%D8%B3" }),
    ],
  ])('with %s is answered: unknown webhook', async (_, path) => {
    const { token } = connectionOf('hosted_storefront');
    const { sent, ...delivered } = await deliver(
      path(token),
      ORDER,
      hostedHeaders('orders/create', ORDER, SECRET),
    );
    expect(delivered).toEqual(UNKNOWN);
    expect(specified(sent.headers)).toEqual({ 'content-type': 'application/json; charset=utf-8' });
  });

  it('is unknown while its connection is disabled', async () => {
    const connection = await fresh('hosted_storefront');
    const enable = (enabled: boolean) =>
      withDatabase((database) =>
        database.query('UPDATE webhook_connections SET enabled = $2 WHERE id = $1', [
          connection.id,
          enabled,
        ]),
      );
    const headers = hostedHeaders('orders/create', ORDER, SECRET);
    expect(await deliver(connection, ORDER, headers)).toMatchObject({
      status: 200,
      answer: { status: 'ok', accepted: 1 },
    });
    await enable(false);
    expect(await deliver(connection, ORDER, headers)).toMatchObject(UNKNOWN);
    await enable(true);
    expect(await deliver(connection, ORDER, headers)).toMatchObject(NOTHING);
  });

  it('is unknown while its account is suspended', async () => {
    const accountId = await bareAccount();
    const connection = await createConnection({
      accountId,
      source: 'event_pipeline',
      secret: undefined,
    });
    await admin('account', 'set', '--account', String(accountId), 'status=suspended');
    expect(await deliver(connection, '{}')).toMatchObject(UNKNOWN);
  });
});

describe('the signature (ingest 4.6)', () => {
  it.each(WEBHOOK_SOURCES.filter((source) => source !== 'event_pipeline'))(
    'of %s without a stored secret is a mismatch',
    async (source) => {
      const connection = await fresh(source, { secret: undefined });
      const { sent, ...delivered } = await deliver(connection, ORDER, {
        ...hostedHeaders('orders/create', ORDER, ''),
        ...pluginHeaders('order.created', ORDER, ''),
      });
      expect(delivered).toEqual(MISMATCH);
      expect(specified(sent.headers)).toEqual({
        'content-type': 'application/json; charset=utf-8',
      });
      expect(await countersAfter(connection, 1)).toEqual({
        received: 1,
        accepted: 0,
        rejected: 1,
        last_error: 'bad signature',
      });
    },
  );

  it.each([
    'retail_marketplace',
    'handmade_marketplace',
    'price_comparison',
    'payment_gateway',
  ] as const)('of %s is always refused (known defect)', async (source) => {
    const connection = await fresh(source);
    const headers = {
      ...hostedHeaders('', ORDER, SECRET),
      ...pluginHeaders('', ORDER, SECRET),
      Authorization: SECRET,
      'X-Signature': signatureOf(Buffer.from(ORDER), SECRET),
    };
    expect(await deliver(connection, ORDER, headers)).toMatchObject(MISMATCH);
    expect(await countersAfter(connection, 1)).toEqual({
      received: 1,
      accepted: 0,
      rejected: 1,
      last_error: 'bad signature',
    });
  });

  it.each([
    [
      'computed over another body',
      { 'X-Storefront-Hmac-Sha256': signatureOf(Buffer.from(`${ORDER} `), SECRET) },
    ],
    ['computed with another secret', hostedHeaders('orders/create', ORDER, 'other')],
    ['in the header of another source', pluginHeaders('order.created', ORDER, SECRET)],
    ['absent', {}],
  ])('of hosted_storefront is refused when it is %s', async (_, headers) => {
    expect(
      await deliver(connectionOf('hosted_storefront'), ORDER, {
        'X-Storefront-Topic': 'orders/create',
        ...headers,
      }),
    ).toMatchObject(MISMATCH);
  });

  it('covers the raw bytes: the same JSON with other white space has another one', async () => {
    const spaced = ORDER.replaceAll('":', '": ');
    const connection = await fresh('hosted_storefront');
    expect(
      await deliver(connection, spaced, hostedHeaders('orders/create', ORDER, SECRET)),
    ).toMatchObject(MISMATCH);
    expect(
      await deliver(connection, spaced, hostedHeaders('orders/create', spaced, SECRET)),
    ).toMatchObject({ status: 200, answer: { accepted: 1 } });
  });

  it('may be surrounded by spaces', async () => {
    const headers = hostedHeaders('orders/create', ORDER, SECRET);
    const padded = {
      ...headers,
      'X-Storefront-Hmac-Sha256': ` ${headers['X-Storefront-Hmac-Sha256'] ?? ''}\t`,
    };
    expect((await deliver(connectionOf('hosted_storefront'), ORDER, padded)).status).toBe(200);
  });
});

describe('the credential of event_pipeline (ingest 4.6)', () => {
  const item = (messageId: string) =>
    JSON.stringify({ type: 'track', event: 'x', userId: 'u', messageId });
  it.each([
    [SECRET, 200],
    [`Bearer ${SECRET}`, 200],
    [`bearer ${SECRET}`, 401],
    [`Basic ${SECRET}`, 401],
    [`${SECRET}x`, 401],
    [undefined, 401],
  ])('sent as Authorization %s is answered %i', async (authorization, status) => {
    const connection = await fresh('event_pipeline');
    const { sent, ...delivered } = await deliver(
      connection,
      item('m'),
      authorization === undefined ? {} : { Authorization: authorization },
    );
    expect(sent.status).toBe(status);
    expect(delivered.answer).toEqual(
      status === 200 ? { status: 'ok', accepted: 1 } : { status: 'error', message: 'unauthorized' },
    );
    const counters = await countersAfter(connection, 1);
    expect(counters).toEqual({
      received: 1,
      accepted: status === 200 ? 1 : 0,
      rejected: status === 200 ? 0 : 1,
      last_error: status === 200 ? '' : 'unauthorized',
    });
  });

  it('is not required while no secret is stored', async () => {
    const connection = await fresh('event_pipeline', { secret: undefined });
    expect(await deliver(connection, item('m'))).toMatchObject({
      status: 200,
      answer: { status: 'ok', accepted: 1 },
    });
    expect(await deliver(connection, item('m2'), { Authorization: 'Basic eA==' })).toMatchObject({
      status: 200,
      answer: { status: 'ok', accepted: 1 },
    });
  });
});

describe('accepted deliveries (ingest 4.6)', () => {
  it('add nothing when they repeat an order, and are answered 200 without accepted', async () => {
    const connection = await fresh('hosted_storefront');
    const headers = hostedHeaders('orders/create', ORDER, SECRET);
    expect(await deliver(connection, ORDER, headers)).toMatchObject({
      status: 200,
      answer: { status: 'ok', accepted: 1 },
    });
    expect(await deliver(connection, ORDER, headers)).toMatchObject(NOTHING);
    expect(
      await deliver(connection, ORDER, { ...headers, 'X-Storefront-Topic': 'orders/paid' }),
    ).toMatchObject(NOTHING);
    expect(await countersAfter(connection, 3)).toEqual({
      received: 3,
      accepted: 1,
      rejected: 0,
      last_error: '',
    });
  });

  it('are never duplicates when the order has no id', async () => {
    const connection = await fresh('plugin_storefront');
    const body = JSON.stringify(pluginOrder(NOW, { id: 0 }));
    for (let time = 0; time < 2; time++)
      expect(
        await deliver(connection, body, pluginHeaders('order.created', body, SECRET)),
      ).toMatchObject({ answer: { status: 'ok', accepted: 1 } });
  });

  it('keep the valid items beside an invalid one, and may have more than 500 items', async () => {
    const connection = await fresh('event_pipeline', { secret: undefined });
    const good = Array.from({ length: 1100 }, (_, at) => ({
      type: 'track',
      event: 'x',
      userId: `u${at % 7}`,
      messageId: `m${at}`,
    }));
    const bad = [
      { type: 'group', userId: 'u' },
      { type: 'track', event: 'x' },
      { type: 'track', event: 'y'.repeat(129), userId: 'u', messageId: 'long' },
      7,
    ];
    const body = JSON.stringify({ batch: [...bad, ...good] });
    expect(await deliver(connection, body)).toMatchObject({
      status: 200,
      answer: { status: 'ok', accepted: 1100 },
    });
    expect(await deliver(connection, body)).toMatchObject(NOTHING);
  });

  it('are not subject to the quota', async () => {
    const accountId = await bareAccount();
    const connection = await createConnection({
      accountId,
      source: 'event_pipeline',
      secret: undefined,
    });
    await admin('account', 'set', '--account', String(accountId), 'subscription=cancelled');
    expect(await deliver(connection, '{"type":"track","event":"x","userId":"u"}')).toMatchObject({
      status: 200,
      answer: { accepted: 1 },
    });
  });

  it('are deduplicated within their account', async () => {
    for (const connection of [await fresh('hosted_storefront'), await fresh('hosted_storefront')])
      expect(
        await deliver(connection, ORDER, hostedHeaders('orders/create', ORDER, SECRET)),
      ).toMatchObject({ answer: { accepted: 1 } });
  });
});

describe('the route (ingest 4.1, 4.2)', () => {
  it('answers only POST', async () => {
    const { source, token } = connectionOf('hosted_storefront');
    expect((await ask({ method: 'GET', path: `/v1/hooks/${source}/${token}` })).status).toBe(405);
    expect((await ask({ path: `/v1/hooks/${source}`, body: '' })).status).toBe(405);
    const preflight = await ask({ method: 'OPTIONS', path: `/v1/hooks/${source}/${token}` });
    expect([preflight.status, specified(preflight.headers)]).toEqual([204, CORS]);
  });

  it('echoes a trace', async () => {
    const { sent } = await deliver(connectionOf('hosted_storefront'), '{}', {
      'X-Service-Trace': '0123456789abcdef01',
    });
    expect(sent.headers['x-service-trace']).toBe('0123456789abcdef01');
  });

  it('has a connection for each source in ready.json, of the demo account', async () => {
    const { webhooks } = readyStack().demo;
    expect(Object.keys(webhooks).sort()).toEqual([...WEBHOOK_SOURCES].sort());
    const { token = '', secret = '' } = webhooks.hosted_storefront ?? {};
    const body = deliveryText(order(NOW, { id: String(Date.now()) }));
    expect(
      await deliver(
        { source: 'hosted_storefront', token },
        body,
        hostedHeaders('orders/create', body, secret),
      ),
    ).toMatchObject({
      answer: { accepted: 1 },
    });
  });
});
