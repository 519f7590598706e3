import { createServer } from 'node:http';
import webPush from 'web-push';
import { afterEach, describe, expect, test } from 'vitest';
import { openProvider } from '../../../messaging/providers/registry.ts';
import { messageTo, providerDeps } from '../../../messaging/providers/testing/provider-deps.ts';
import {
  APNS,
  browser,
  FCM,
  NEVER,
  serviceAccount,
  VAPID,
} from '../../../messaging/providers/testing/push-services.ts';
import type { RenderedContent, Target } from '../../../messaging/providers/provider.ts';
import { atEnd, closeAll, listen } from '../../../platform/outbound/receivers.ts';
import { apnsReceiver } from './apns.ts';
import { fcmReceiver } from './fcm.ts';
import type { Receiver, SandboxMessage } from './receiver.ts';
import { webPushReceiver } from './webpush.ts';

afterEach(closeAll);

/** A server that hands its requests to a receiver, as the sandbox does. */
async function serve(receiver: Receiver): Promise<{ origin: string; messages: SandboxMessage[] }> {
  const messages: SandboxMessage[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const { answer, message } = receiver.handle({
        ...{ method, path: url, headers: headers as Record<string, string>, origin },
        body: Buffer.concat(chunks),
      });
      if (message) messages.push(message);
      response.writeHead(answer.status, answer.headers).end(answer.body ?? '');
    });
  });
  const origin = `http://127.0.0.1:${await listen(server)}`;
  return { origin, messages };
}

const startedAt = Date.now();
const now = () => startedAt;
const content: Partial<RenderedContent> = {
  ...{ title: 'سلام', text: 'نرگس', url: 'https://a.b/', data: { o: '7' } },
};

function sendTo(origin: string, provider: 'fcm' | 'apns' | 'webpush', to: Target) {
  const of = {
    fcm: {
      config: FCM.config(origin),
      secret: JSON.stringify({
        ...(JSON.parse(serviceAccount(1)) as object),
        token_uri: `${origin}/token`,
      }),
    },
    apns: { config: APNS.config(origin), secret: APNS.secret },
    webpush: { config: { subject: 'mailto:a@b.ir' }, secret: VAPID.privateKey },
  }[provider];
  const channel = provider === 'webpush' ? 'web' : 'push';
  const deps = providerDeps({ now });
  const opened = openProvider({ ...of, channel, provider, accountId: 1, deps });
  atEnd(() => void opened.close());
  const message = { ...messageTo(to, content), expiresAt: now() + 90_000 };
  return opened.send(message, { signal: NEVER });
}

const post = (url: string, headers: Record<string, string>, body = '') =>
  fetch(url, { method: 'POST', headers, body });

describe('the receiver of FCM', () => {
  test('lists what our provider sends', async () => {
    const { origin, messages } = await serve(fcmReceiver({ now }));
    const to: Target = { ...{ kind: 'device', deviceId: 'd' }, provider: 'fcm', token: 'tok:1' };
    expect(await sendTo(origin, 'fcm', to)).toMatchObject({ kind: 'accepted' });
    expect(messages).toMatchObject([
      {
        ...{ channel: 'push', provider: 'fcm', to: 'tok:1', title: 'سلام', text: 'نرگس' },
        data: { o: '7', url: 'https://a.b/', sg_mid: messageTo(to).messageId },
      },
    ]);
    expect(await sendTo(origin, 'fcm', { ...to, token: 'dead-1' })).toMatchObject({
      ...{ kind: 'dead_address', reason: 'unregistered' },
    });
  });

  test('refuses what FCM refuses', async () => {
    const { origin, messages } = await serve(fcmReceiver({ now }));
    const send = `${origin}/v1/projects/p/messages:send`;
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await post(`${origin}/token`, form, 'grant_type=x')).status).toBe(400);
    expect((await post(send, { authorization: 'Bearer x' }, '{}')).status).toBe(401);
    expect((await post(`${origin}/v1/other`, {}, '{}')).status).toBe(404);
    expect(messages).toEqual([]);
  });
});

describe('the receiver of APNs', () => {
  const to = (token: string): Target => ({
    ...{ kind: 'device', deviceId: 'd', provider: 'apns', token },
  });

  test('lists what our provider sends', async () => {
    const { origin, messages } = await serve(apnsReceiver({ now }));
    expect(await sendTo(origin, 'apns', to('ab12'))).toMatchObject({ kind: 'accepted' });
    expect(messages).toMatchObject([
      {
        ...{ channel: 'push', provider: 'apns', to: 'ab12', title: 'سلام', text: 'نرگس' },
        data: { o: '7', url: 'https://a.b/' },
        headers: { 'apns-topic': 'ir.shop.app', 'apns-push-type': 'alert' },
      },
    ]);
    expect(messages[0]?.headers).not.toHaveProperty('authorization');
    expect(await sendTo(origin, 'apns', to('dead12'))).toMatchObject({
      ...{ kind: 'dead_address', reason: 'unregistered' },
    });
  });

  test.each<[string, string, Record<string, string>, number, string]>([
    ['another path', '/x', {}, 404, 'BadPath'],
    ['no token', '/3/device/ab', {}, 403, 'MissingProviderToken'],
    ['another token', '/3/device/ab', { authorization: 'bearer x' }, 403, 'InvalidProviderToken'],
  ])('refuses %s', async (_, path, headers, status, reason) => {
    const { origin, messages } = await serve(apnsReceiver({ now }));
    const response = await post(origin + path, headers, '{"aps":{}}');
    expect([response.status, await response.json()]).toEqual([status, { reason }]);
    expect(messages).toEqual([]);
  });
});

describe('the receiver of web push', () => {
  const subscribed = async (origin: string) =>
    (await (await post(`${origin}/subscriptions`, {})).json()) as webPush.PushSubscription;
  const target = ({ endpoint, keys }: webPush.PushSubscription): Target => ({
    ...{ kind: 'browser', endpoint, ...keys },
  });

  test('lists what our provider sends to its subscriptions, decrypted', async () => {
    const { origin, messages } = await serve(webPushReceiver({ now, prefix: '' }));
    const subscription = await subscribed(origin);
    expect(await sendTo(origin, 'webpush', target(subscription))).toMatchObject({
      kind: 'accepted',
      providerMessageId: expect.stringContaining(`${origin}/m/`) as string,
    });
    expect(messages).toMatchObject([
      {
        ...{ channel: 'web', provider: 'webpush', to: subscription.endpoint },
        ...{ title: 'سلام', text: 'نرگس', data: { o: '7', url: 'https://a.b/' } },
        headers: { ttl: '90', urgency: 'normal' },
      },
    ]);
  });

  test('lists what another implementation sends', async () => {
    const { origin, messages } = await serve(webPushReceiver({ now, prefix: '' }));
    const { headers, body, endpoint } = webPush.generateRequestDetails(
      await subscribed(origin),
      'سلام',
      {
        vapidDetails: { subject: 'mailto:a@b.ir', ...VAPID },
        ...{ TTL: 60, contentEncoding: 'aes128gcm', topic: 'news' },
      },
    );
    const init = { method: 'POST', headers: headers as Record<string, string>, body };
    expect((await fetch(endpoint, init)).status).toBe(201);
    expect(messages).toMatchObject([{ text: 'سلام', headers: { ttl: '60', topic: 'news' } }]);
  });

  test('lists the bytes of messages to browsers that it does not know', async () => {
    const { origin, messages } = await serve(webPushReceiver({ now, prefix: '' }));
    const to = browser(`${origin}/push/mine`).target;
    expect(await sendTo(origin, 'webpush', to)).toMatchObject({ kind: 'accepted' });
    expect(messages).toMatchObject([{ to: to.endpoint, title: '' }]);
    expect(String(messages[0]?.data['body']).length).toBeGreaterThan(200);
    const dead = browser(`${origin}/push/dead-1`).target;
    expect(await sendTo(origin, 'webpush', dead)).toMatchObject({ kind: 'dead_address' });
  });

  test('refuses what push services refuse', async () => {
    const { origin, messages } = await serve(webPushReceiver({ now, prefix: '' }));
    const subscription = await subscribed(origin);
    const made = (options: object = {}) =>
      webPush.generateRequestDetails(subscription, 'x', {
        ...{ TTL: 60, contentEncoding: 'aes128gcm' },
        vapidDetails: { subject: 'mailto:a@b.ir', ...VAPID },
        ...options,
      });
    const status = async (change: Record<string, string>, more: object = {}) => {
      const { headers, body } = made(more);
      const own = Object.entries({ ...headers, ...change }).filter(([, value]) => value !== '');
      const init = {
        method: 'POST',
        headers: Object.fromEntries(own) as Record<string, string>,
        body,
      };
      return (await fetch(subscription.endpoint, init)).status;
    };
    expect(await status({ TTL: '' })).toBe(400);
    expect(await status({ Topic: 'a/b' })).toBe(400);
    expect(await status({ 'Content-Encoding': 'aesgcm' })).toBe(400);
    expect(await status({ Authorization: '' })).toBe(401);
    const other = webPush.generateVAPIDKeys();
    const { headers: theirs } = made({ vapidDetails: { subject: 'mailto:a@b.ir', ...other } });
    const mixed = String(theirs['Authorization']).replace(/k=.*/, `k=${VAPID.publicKey}`);
    expect(await status({ Authorization: mixed })).toBe(401);
    expect((await post(`${origin}/elsewhere`, {})).status).toBe(404);
    expect(messages).toEqual([]);
  });

  test('takes a message of 3993 bytes, and none of 3994', async () => {
    const { origin } = await serve(webPushReceiver({ now, prefix: '' }));
    const subscription = await subscribed(origin);
    const statuses = [3993, 3994].map(async (length) => {
      const { headers, body } = webPush.generateRequestDetails(subscription, 'x'.repeat(length), {
        ...{ TTL: 60, contentEncoding: 'aes128gcm' },
        vapidDetails: { subject: 'mailto:a@b.ir', ...VAPID },
      });
      const init = { method: 'POST', headers: headers as Record<string, string>, body };
      return (await fetch(subscription.endpoint, init)).status;
    });
    expect(await Promise.all(statuses)).toEqual([201, 413]);
  });
});
