import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BodyDecider } from '../../ingest/body-decider.ts';
import type { LogRecord } from '../../ingest/log-record.ts';
import { createLog } from '../../platform/log.ts';
import { channelCommandCodec } from '../../schemas/codec.ts';
import type { ChannelCommand } from '../../schemas/records.ts';
import type { Verification } from '../auth/write-keys.ts';
import { BodyBudget } from '../http/body.ts';
import { ChannelServer } from './channel-server.ts';
import { CommandWriter } from '../../ingest/command-writer.ts';
import { registrationRoutes } from './registration-routes.ts';

const DEVICE = { device_id: 'd', user_id: 'u', platform: 'android', push_token: 't' };

let server: Server;
let origin: string;
let published: LogRecord[];
let isDurable: boolean;
let verification: Verification;
let now: number;
let budget: BodyBudget;
const decider = new BodyDecider({ maxBodyBytes: 1 << 20, random: Math.random });

beforeEach(async () => {
  published = [];
  isDurable = true;
  verification = { accountId: 3, appId: 4, writeKeyId: 5 };
  now = 1000;
  budget = new BodyBudget(1 << 20);
  const channels = new ChannelServer({
    keys: { verify: () => verification },
    ...{ budget, maxBodyBytes: 300_000, decider, maxRequests: 8, trusted: undefined },
    ...{ log: createLog({ part: 'test', level: 'silent' }), now: () => now },
    ...{ isClosing: () => false, onAnswered: () => undefined },
  });
  const writer = new CommandWriter({
    publish: (records) => {
      if (isDurable) published.push(...records);
      return Promise.resolve(isDurable ? [] : records);
    },
    gateway: 'g',
  });
  const routes = channels.routes(registrationRoutes({ writer, hasPush: true }));
  server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0];
    const route = routes.find((one) => one.path === path);
    void route?.serve({}, { request, response });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function post(
  path: string,
  body: unknown,
  headers: Record<string, string> = { 'X-Service-Key': 'k' },
): Promise<{ status: number; body: unknown; headers: Headers }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(origin + path, { method: 'POST', body: text, headers });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

function commands(): ChannelCommand[] {
  return published.map(({ value }) => channelCommandCodec.decode(value));
}

describe('a registration', () => {
  it('is answered when its command is durable, with the account of the key', async () => {
    const answer = await post('/v1/devices', { ...DEVICE, account_id: 9 });
    expect([answer.status, answer.body]).toEqual([200, { status: 'ok', warnings: [] }]);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('x-service-trace')).toMatch(/^[0-9a-f]{16}$/);
    expect(commands()).toMatchObject([
      {
        ...{ kind: 'device_registered', account_id: 3, app_id: 4, write_key_id: 5, source: 'sdk' },
        ...{ user_id: 'u', address_id: 'd', received_at: 1000, gateway: 'g', sequence: 0 },
      },
    ]);
    expect(published).toMatchObject([{ topic: 'channel.commands', events: 0, accountId: 3 }]);
  });

  it.each([
    ['/v1/devices/unregister', { device_id: 'd' }, 'device_unregistered'],
    [
      '/v1/webpush/subscribe',
      {
        user_id: 'u',
        subscription: {
          endpoint: 'https://push.example/1',
          keys: { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) },
        },
      },
      'web_push_subscribed',
    ],
    ['/v1/webpush/unsubscribe', { endpoint: 'https://push.example/1' }, 'web_push_unsubscribed'],
    ['/v1/messenger/link', { user_id: 'u', platform: 'bale', chat_id: 5 }, 'messenger_linked'],
    ['/v1/messenger/unlink', { user_id: 'u', platform: 'bale' }, 'messenger_unlinked'],
  ])('at %s becomes one command', async (path, body, kind) => {
    const answer = await post(path, body);
    expect([answer.status, answer.body]).toEqual([200, { status: 'ok' }]);
    expect(commands().map((command) => command.kind)).toEqual([kind]);
  });

  it('of a device is served where push is configured; its end is always served', () => {
    const served = registrationRoutes({
      writer: { write: () => Promise.resolve(true) },
      hasPush: false,
    });
    const paths = served.map(({ path }) => path);
    expect(paths).not.toContain('/v1/devices');
    expect(paths).toContain('/v1/devices/unregister');
  });

  it('that is not durable is answered 503, in the shape of its route', async () => {
    isDurable = false;
    const text = 'temporarily unavailable, please retry';
    expect(await post('/v1/devices', DEVICE)).toMatchObject({
      status: 503,
      body: { error: text, warnings: [] },
    });
    expect(await post('/v1/devices/unregister', { device_id: 'd' })).toMatchObject({
      status: 503,
      body: { status: 'error', message: text },
    });
  });

  it('that breaks a rule is answered 400 with the text of its route', async () => {
    expect(await post('/v1/devices', {})).toMatchObject({
      status: 400,
      body: { error: 'device_id is required', warnings: [] },
    });
    expect(await post('/v1/webpush/unsubscribe', {})).toMatchObject({
      status: 400,
      body: { status: 'error', message: 'endpoint is required' },
    });
    expect(published).toEqual([]);
  });

  it.each(['[]', '{', 'null', '"x"', '{"device_id":5}', '{"device_id":{}}'])(
    'that is malformed is answered 400: %s',
    async (body) => {
      expect(await post('/v1/devices', body)).toMatchObject({
        status: 400,
        body: { status: 'error', message: 'malformed JSON', error: 'malformed JSON' },
      });
      expect(await post('/v1/devices/unregister', body)).toMatchObject({
        status: 400,
        body: { status: 'error', message: 'malformed JSON' },
      });
    },
  );

  it('needs a write key, in any of its three places', async () => {
    const message = 'missing write key';
    expect(await post('/v1/devices', DEVICE, {})).toMatchObject({ status: 401, body: { message } });
    expect(await post('/v1/devices?write_key=k', DEVICE, {})).toMatchObject({ status: 200 });
    expect(await post('/v1/devices', DEVICE, { Authorization: 'Bearer k' })).toMatchObject({
      status: 200,
    });
    verification = 'invalid';
    expect(await post('/v1/devices', DEVICE)).toMatchObject({ status: 401 });
    verification = 'unverified';
    const answer = await post('/v1/devices', DEVICE);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
  });

  it('that is too large is answered 413, and gives its memory back', async () => {
    const large = { ...DEVICE, filler: 'x'.repeat(300_000) };
    expect(await post('/v1/devices', large)).toMatchObject({
      status: 413,
      body: { message: 'request body too large' },
    });
    expect(budget.bytes).toBe(0);
  });

  it('of a body that is expensive to parse is read in the thread', async () => {
    const bomb = JSON.stringify({ ...DEVICE, filler: Array.from({ length: 90_000 }, () => []) });
    expect(await post('/v1/devices', bomb)).toMatchObject({ status: 200 });
    expect(decider.counters.thread).toBe(1);
    expect(commands()).toHaveLength(1);
  });

  it('comes after the one before, also when the clock goes back', async () => {
    await post('/v1/devices', DEVICE);
    now = 500;
    await post('/v1/devices', DEVICE);
    expect(commands().map(({ received_at, sequence }) => [received_at, sequence])).toEqual([
      [1000, 0],
      [1000, 1],
    ]);
  });

  it('of one user is always in the same partition', async () => {
    await post('/v1/devices', DEVICE);
    await post('/v1/messenger/link', { user_id: 'u', platform: 'bale', chat_id: '1' });
    await post('/v1/devices', { ...DEVICE, device_id: 'e', platform: 'ios' });
    expect(new Set(published.map(({ partition }) => partition)).size).toBe(1);
  });
});
