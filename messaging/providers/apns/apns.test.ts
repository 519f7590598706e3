import { createPublicKey, generateKeyPairSync, verify, type KeyObject } from 'node:crypto';
import { jwtVerify } from 'jose';
import { afterEach, describe, expect, test } from 'vitest';
import { respond, type ReceivedPost } from '../../../platform/http2/testing/receivers.ts';
import { closeAll } from '../../../platform/outbound/receivers.ts';
import type { ProviderAnswer } from '../provider.ts';
import { messageTo, providerDeps } from '../testing/provider-deps.ts';
import { APNS, APNS_PUBLIC, NEVER, startService } from '../testing/push-services.ts';
import { openApns, parseApnsConfig } from './apns.ts';
import { signDeterministically } from './deterministic-ecdsa.ts';
import { parseSigningKey } from './provider-token.ts';

afterEach(closeAll);

const NOW = 1_763_800_000_000;
const MINUTE = 60_000;
const tokenOf = (one: ReceivedPost | undefined) =>
  (one?.headers.authorization ?? '').replace(/^bearer /, '');
const content = { subject: '', title: '', text: '', html: '', url: '', data: {} };

describe('a message', () => {
  test('is sent with its alert, its data and its headers', async () => {
    const { send, base, messages } = await startService(APNS, (one) =>
      respond(one, { headers: { 'apns-id': String(one.headers['apns-id']) } }),
    );
    const to = { ...APNS.target(base), token: 'ab'.repeat(32) } as ReturnType<typeof APNS.target>;
    const messageId = 'c7.12.0123456789abcdef0123456789abcdef';
    const answer = await send({
      ...{ to, messageId, expiresAt: NOW + 90_500 },
      content: {
        ...content,
        title: 'سلام',
        text: 'خوبی؟',
        url: 'https://a.b/',
        data: { aps: 'x', o: '7' },
      },
    });
    const [message] = messages;
    expect(message?.path).toBe(`/3/device/${'ab'.repeat(32)}`);
    expect(message?.headers).toMatchObject({
      'apns-topic': 'ir.shop.app',
      'apns-push-type': 'alert',
      'apns-priority': '10',
      'apns-expiration': String(Math.floor((NOW + 90_500) / 1000)),
      'apns-collapse-id': expect.stringMatching(/^[\w-]{32}$/) as string,
      'apns-id': expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) as string,
    });
    expect(JSON.parse(message?.body.toString() ?? '')).toEqual({
      aps: { alert: { title: 'سلام', body: 'خوبی؟' }, sound: 'default' },
      ...{ o: '7', url: 'https://a.b/', sg_mid: messageId },
    });
    expect(answer).toEqual({ kind: 'accepted', providerMessageId: message?.headers['apns-id'] });
  });

  test('has the same id and collapse id each time, and another id on another device', async () => {
    const { send, base, messages } = await startService(APNS);
    const [a, b] = [APNS.target(base), APNS.target(base)];
    for (const to of [a, a, b]) await send({ to });
    const ids = messages.map(({ headers }) => headers['apns-id']);
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
    expect(new Set(messages.map(({ headers }) => headers['apns-collapse-id'])).size).toBe(1);
  });

  test('without title and text wakes the app up', async () => {
    const { send, messages } = await startService(APNS);
    await send({ content: { ...content, data: { a: '1' } } });
    expect(messages[0]?.headers).toMatchObject({
      ...{ 'apns-push-type': 'background', 'apns-priority': '5' },
    });
    expect(JSON.parse(messages[0]?.body.toString() ?? '')).toMatchObject({
      ...{ aps: { 'content-available': 1 }, a: '1' },
    });
  });

  test('of more than 4096 bytes is not sent', async () => {
    const { send, messages } = await startService(APNS);
    const sent = { messageId: 't1.key-0001', content: { ...content, text: 'x' } };
    await send(sent);
    const rest = 4096 - (messages[0]?.body.length ?? 0);
    const longer = (by: number) => ({ ...sent, content: { ...content, text: 'x'.repeat(1 + by) } });
    expect(await send(longer(rest))).toMatchObject({ kind: 'accepted' });
    expect(messages[1]?.body).toHaveLength(4096);
    expect(await send(longer(rest + 1))).toMatchObject({ kind: 'rejected', reason: 'too_large' });
    expect(messages).toHaveLength(2);
  });

  test.each(['', 'xyz', 'abc', '../../etc', 'ab'.repeat(101), 'ab\r\nx'])(
    'to the token %j is not sent: it is no device token',
    async (token) => {
      const { send, base, messages } = await startService(APNS);
      const to = { ...APNS.target(base), token } as ReturnType<typeof APNS.target>;
      expect(await send({ to })).toMatchObject({
        kind: 'dead_address',
        reason: 'bad_device_token',
      });
      expect(messages).toHaveLength(0);
    },
  );
});

describe('a provider token', () => {
  test('is verified by another implementation', async () => {
    const { send, messages } = await startService(APNS);
    await send();
    const { payload, protectedHeader } = await jwtVerify(tokenOf(messages[0]), APNS_PUBLIC, {
      ...{ algorithms: ['ES256'], issuer: 'TEAM123456', currentDate: new Date(NOW) },
    });
    expect(protectedHeader).toEqual({ alg: 'ES256', kid: 'KEY1234567' });
    expect(Object.keys(payload)).toEqual(['iss', 'iat']);
  });

  test('is the same in all processes, for 30 minutes, and 5 to 35 minutes old', async () => {
    let now = 0;
    const { open, base, messages } = await startService(APNS);
    const providers = [open({ now: () => now }), open({ now: () => now + 1000 })];
    const ages: number[] = [];
    const tokens = new Map<string, number>();
    for (let minute = 0; minute < 24 * 60; minute += 5) {
      // A second after a change, as the clocks of two hosts differ.
      now = Math.floor(NOW / (60 * MINUTE)) * 60 * MINUTE + minute * MINUTE + 1000;
      for (const provider of providers)
        await provider.send(messageTo(APNS.target(base)), { signal: NEVER });
      const token = tokenOf(messages.at(-1));
      expect(tokenOf(messages.at(-2))).toBe(token);
      tokens.set(token, (tokens.get(token) ?? 0) + 5);
      const { payload } = await jwtVerify(token, APNS_PUBLIC, { currentDate: new Date(now) });
      ages.push(now / 1000 - (payload.iat ?? 0));
    }
    expect(Math.min(...ages)).toBeGreaterThanOrEqual(5 * 60);
    expect(Math.max(...ages)).toBeLessThanOrEqual(35 * 60);
    // The first and the last one are cut by the day.
    expect([...tokens.values()].slice(1, -1)).toEqual(Array(tokens.size - 2).fill(30));
  });
});

describe('signatures that are the same each time', () => {
  // RFC 6979, A.2.5: P-256 and SHA-256.
  const key = Buffer.from(
    'C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721',
    'hex',
  );

  test.each([
    [
      'sample',
      'EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716',
      'F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8',
    ],
    [
      'test',
      'F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367',
      '019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083',
    ],
  ])('are those of RFC 6979 for %j', (text, r, s) => {
    const signature = signDeterministically(Buffer.from(text), key);
    expect(signature.toString('hex').toUpperCase()).toBe(r + s);
  });

  test('are verified by OpenSSL, with any key and message', () => {
    for (let count = 0; count < 50; count++) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const message = Buffer.from(`message ${count}`);
      const signature = signDeterministically(message, parseSigningKey(pemOf(privateKey)));
      const isValid = verify(
        'sha256',
        message,
        {
          key: createPublicKey(publicKey.export({ type: 'spki', format: 'pem' })),
          dsaEncoding: 'ieee-p1363',
        },
        signature,
      );
      expect(isValid).toBe(true);
    }
  });

  test.each([
    ['another curve', generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey],
    ['RSA', generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey],
  ])('are not made with a key of %s', (_, privateKey) => {
    expect(() => parseSigningKey(pemOf(privateKey))).toThrow('apns: the secret has to be a .p8');
  });
});

describe('a token that one environment calls bad', () => {
  const bad = (one: ReceivedPost) =>
    respond(one, { status: 400, body: '{"reason":"BadDeviceToken"}' });
  const to = async (other: (one: ReceivedPost) => void): Promise<[ProviderAnswer, number]> => {
    const [production, sandbox] = [await startService(APNS, bad), await startService(APNS, other)];
    const config = {
      ...parseApnsConfig(APNS.config(production.base)),
      otherUrl: sandbox.base,
    };
    const { secret } = APNS;
    const deps = providerDeps({ allow: ['push.example'] });
    const provider = openApns(config, { channel: 'push', accountId: 1, secret, deps });
    const answer = await provider.send(messageTo(APNS.target('')), { signal: NEVER });
    return [answer, sandbox.messages.length];
  };

  test.each<[string, (one: ReceivedPost) => void, object]>([
    ['is sent by the other one', (one) => respond(one), { kind: 'accepted' }],
    [
      'is dead when the other one says so too',
      bad,
      { kind: 'dead_address', reason: 'bad_device_token' },
    ],
    [
      'is dead when the other one has not the key',
      (one) => respond(one, { status: 403, body: '{"reason":"BadEnvironmentKeyInToken"}' }),
      { kind: 'dead_address', reason: 'bad_device_token' },
    ],
    [
      'is tried again when the other one is not available',
      (one) => respond(one, { status: 503 }),
      { kind: 'retry' },
    ],
    [
      'is lost with the answer of the other one',
      ({ stream }) => stream.close(2),
      { kind: 'unknown' },
    ],
  ])('%s', async (_, other, expected) => {
    expect(await to(other)).toMatchObject([expected, 1]);
  });

  test('is tried in the other environment of Apple, but not beside another URL', () => {
    const config = (url?: string) =>
      parseApnsConfig({
        team_id: 'T',
        key_id: 'K',
        topic: 'a.b',
        ...(url === undefined ? {} : { url }),
      });
    expect(config()).toMatchObject({
      url: 'https://api.push.apple.com',
      otherUrl: 'https://api.sandbox.push.apple.com',
    });
    expect(config('https://api.sandbox.push.apple.com/').otherUrl).toBe(
      'https://api.push.apple.com',
    );
    expect(config('https://proxy.example').otherUrl).toBeUndefined();
  });
});

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}
