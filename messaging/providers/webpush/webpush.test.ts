import { createECDH, createPublicKey } from 'node:crypto';
import { decrypt } from 'http_ece';
import { jwtVerify } from 'jose';
import webPush from 'web-push';
import { afterEach, describe, expect, test } from 'vitest';
import { respond, type ReceivedPost } from '../../../platform/http2/testing/receivers.ts';
import { closeAll, receiver } from '../../../platform/outbound/receivers.ts';
import type { Target } from '../provider.ts';
import { openProvider } from '../registry.ts';
import { messageTo, providerDeps } from '../testing/provider-deps.ts';
import { browser, NEVER, startService, VAPID, WEB_PUSH } from '../testing/push-services.ts';
import { encryptPush } from './encrypt.ts';
import { generateVapidKeys, vapidPublicKey } from './vapid-keys.ts';

afterEach(closeAll);

const NOW = 1_763_800_000_000;
const EMPTY = { subject: '', title: '', text: '', html: '', url: '', data: {} };
const created = (one: ReceivedPost) =>
  respond(one, { status: 201, headers: { location: 'https://push.example/m/1' } });

/** What the browser decrypts. */
function decrypted(one: ReceivedPost, { ecdh, auth }: ReturnType<typeof browser>): string {
  const keys = { version: 'aes128gcm' as const, privateKey: ecdh, authSecret: auth };
  return decrypt(one.body, keys).toString();
}

describe('a message', () => {
  test('is decrypted by the browser, and has the headers of RFC 8030', async () => {
    const { send, base, messages } = await startService(WEB_PUSH, created);
    const subscriber = browser(`${base}/wpush/v2/abc?x=1`);
    const content = {
      ...EMPTY,
      title: 'سلام',
      text: 'نرگس 🌸',
      url: 'https://a.b/',
      data: { o: '7' },
    };
    const messageId = 'c7.12.0123456789abcdef0123456789abcdef';
    const to = subscriber.target;
    expect(await send({ to, content, messageId, expiresAt: NOW + 90_500 })).toEqual({
      ...{ kind: 'accepted', providerMessageId: 'https://push.example/m/1' },
    });
    const [message] = messages as [ReceivedPost];
    expect(message.path).toBe('/wpush/v2/abc?x=1');
    expect(message.headers).toMatchObject({
      ...{ ttl: '90', urgency: 'normal', 'content-encoding': 'aes128gcm' },
      topic: expect.stringMatching(/^[\w-]{32}$/) as string,
    });
    expect(JSON.parse(decrypted(message, subscriber))).toEqual({
      ...{
        title: 'سلام',
        body: 'نرگس 🌸',
        url: 'https://a.b/',
        data: { o: '7' },
        sg_mid: messageId,
      },
    });
  });

  test('has other keys and another salt each time, and the same topic', async () => {
    const { send, base, messages } = await startService(WEB_PUSH, created);
    const subscriber = browser(`${base}/1`);
    const sent = { to: subscriber.target, messageId: 't1.key-0001' };
    for (let count = 0; count < 3; count++) await send(sent);
    expect(new Set(messages.map(({ body }) => body.toString('hex', 0, 16))).size).toBe(3);
    expect(new Set(messages.map(({ body }) => body.toString('hex', 21, 86))).size).toBe(3);
    expect(new Set(messages.map(({ headers }) => headers['topic'])).size).toBe(1);
    expect(new Set(messages.map((one) => decrypted(one, subscriber))).size).toBe(1);
  });

  test('of 3993 bytes is a body of 4096, and a longer one is not sent', async () => {
    const { send, base, messages } = await startService(WEB_PUSH, created);
    const subscriber = browser(`${base}/1`);
    const sent = (text: string) => ({
      ...{ to: subscriber.target, messageId: 't1.key-0001', content: { ...EMPTY, text } },
    });
    await send(sent(''));
    const rest = 3993 - decrypted(messages[0] as ReceivedPost, subscriber).length;
    expect(await send(sent('x'.repeat(rest)))).toMatchObject({ kind: 'accepted' });
    expect(messages[1]?.body).toHaveLength(4096);
    expect(await send(sent('x'.repeat(rest + 1)))).toMatchObject({
      ...{ kind: 'rejected', reason: 'too_large' },
    });
    expect(messages).toHaveLength(2);
  });

  test('is encrypted as the example of RFC 8291', () => {
    const sender = createECDH('prime256v1');
    sender.setPrivateKey(Buffer.from('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw', 'base64url'));
    const keys = {
      p256dh: Buffer.from(
        'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
        'base64url',
      ),
      auth: Buffer.from('BTBZMqHH6r4Tts7J_aSIgg', 'base64url'),
    };
    const salt = Buffer.from('DGv6ra1nlYgDCS1FRnbzlw', 'base64url');
    const plain = Buffer.from('When I grow up, I want to be a watermelon');
    expect(encryptPush(plain, keys, { sender, salt }).toString('base64url')).toBe(
      'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
    );
  });
});

describe('the token of the sender', () => {
  const vapid = (one: ReceivedPost | undefined) =>
    /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(one?.headers.authorization ?? '') ?? [];

  test('is verified with its public key by another implementation', async () => {
    const { send, base, messages } = await startService(WEB_PUSH, created);
    await send();
    const [, token = '', k] = vapid(messages[0]);
    expect(k).toBe(VAPID.publicKey);
    const point = Buffer.from(VAPID.publicKey, 'base64url');
    const [x, y] = [point.toString('base64url', 1, 33), point.toString('base64url', 33)];
    const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
    const { payload } = await jwtVerify(token, key, {
      ...{ audience: base, algorithms: ['ES256'], currentDate: new Date(NOW) },
    });
    expect(payload.sub).toBe('mailto:push@shop.example');
    expect((payload.exp ?? 0) - NOW / 1000).toBeLessThanOrEqual(24 * 3600);
  });

  test('is signed once for an origin and half its time, and never sent to another origin', async () => {
    let now = NOW;
    const { send, base, messages } = await startService(WEB_PUSH, created, { now: () => now });
    const other = await startService(WEB_PUSH, created);
    await send();
    await send();
    await send({ to: WEB_PUSH.target(other.base) });
    now += 6 * 3_600_000;
    await send();
    const [first, second, , later] = [...messages.slice(0, 2), other.messages[0], messages[2]].map(
      (one) => vapid(one)[1],
    );
    expect(second).toBe(first);
    expect(later).not.toBe(first);
    const audience = (token = '') =>
      (
        JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
          aud: string;
        }
      ).aud;
    expect(audience(first)).toBe(base);
    expect(audience(vapid(other.messages[0])[1])).toBe(other.base);
  });
});

describe('keys of a sender', () => {
  test('are taken by another implementation, and those that it makes are taken', () => {
    for (let count = 0; count < 300; count++) {
      const { publicKey, privateKey } = generateVapidKeys();
      expect(() => webPush.setVapidDetails('mailto:a@b.ir', publicKey, privateKey)).not.toThrow();
      const theirs = webPush.generateVAPIDKeys();
      expect(vapidPublicKey(theirs.privateKey)).toBe(theirs.publicKey);
    }
  });

  test.each(['', 'AAAA', Buffer.alloc(32).toString('base64url'), '_'.repeat(43), '*'.repeat(43)])(
    'are not %j',
    (secret) => {
      expect(() => vapidPublicKey(secret)).toThrow('webpush: the secret has to be a private key');
    },
  );

  test.each(['a@b.ir', 'mailto:', 'http://shop.example', 'mailto:a b@c', ''])(
    'have a subject, which is not %j',
    (subject) => {
      const opening = { accountId: 1, channel: 'web' as const, provider: 'webpush' };
      expect(() =>
        openProvider({
          ...{ ...opening, config: { subject }, secret: VAPID.privateKey, deps: providerDeps() },
        }),
      ).toThrow('webpush: ');
    },
  );
});

describe('a subscription that no message can be sent to is dead', () => {
  const good = browser('https://push.example/1').target;
  const offCurve = Buffer.alloc(65, 4).toString('base64url');

  test.each<[string, Partial<Target & { kind: 'browser' }>]>([
    ['a key that is too short', { p256dh: 'AAAA' }],
    ['a key that is no point of the curve', { p256dh: offCurve }],
    ['a compressed key', { p256dh: Buffer.alloc(65, 2).toString('base64url') }],
    ['a secret that is too short', { auth: 'AAAA' }],
    ['an endpoint that is no URL', { endpoint: 'push' }],
    ['an endpoint of another scheme', { endpoint: 'file:///etc/passwd' }],
    ['an endpoint without encryption', { endpoint: 'http://other.example/1' }],
    ['an endpoint at a loopback address', { endpoint: 'https://127.0.0.1/1' }],
    ['an endpoint at the metadata of a cloud', { endpoint: 'https://169.254.169.254/latest' }],
    ['an endpoint at another port', { endpoint: 'https://other.example:6379/1' }],
    ['an endpoint with a password', { endpoint: 'https://a:b@other.example/1' }],
  ])('%s', async (_, broken) => {
    const { send } = await startService(WEB_PUSH, created);
    expect(await send({ to: { ...good, ...broken } })).toMatchObject({
      ...{ kind: 'dead_address', reason: 'invalid_subscription' },
    });
  });
});

test('an endpoint whose name has a private address is tried again, and gets nothing', async () => {
  const { open, base, messages } = await startService(WEB_PUSH, created);
  const provider = open({ allow: [`127.0.0.1`] });
  const to = browser(base.replace(/:\d+$/, '/1')).target;
  expect(await provider.send(messageTo(to), { signal: NEVER })).toMatchObject({
    ...{ kind: 'retry', reason: 'address_refused' },
  });
  expect(messages).toHaveLength(0);
});

test('an endpoint of a host that the operator allows may have http', async () => {
  const { port, received } = await receiver((_, response) => response.writeHead(201).end());
  const { open } = await startService(WEB_PUSH);
  const to = browser(`http://127.0.0.1:${port}/webpush/1`).target;
  const answer = await open({ allow: [`127.0.0.1:${port}`] }).send(messageTo(to), {
    signal: NEVER,
  });
  expect(answer).toMatchObject({ kind: 'accepted' });
  expect(received).toHaveLength(1);
});
