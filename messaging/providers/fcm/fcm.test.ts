import { jwtVerify } from 'jose';
import { afterEach, describe, expect, test } from 'vitest';
import {
  http2Receiver,
  respond,
  type ReceivedPost,
} from '../../../platform/http2/testing/receivers.ts';
import { delay } from '../../../platform/backoff.ts';
import { closeAll } from '../../../platform/outbound/receivers.ts';
import { openProvider } from '../registry.ts';
import { messageTo, providerDeps } from '../testing/provider-deps.ts';
import { FCM, NEVER, RSA_PUBLIC, serviceAccount, startService } from '../testing/push-services.ts';

afterEach(closeAll);

const NOW = 1_763_800_000_000;
const accept = (one: ReceivedPost) =>
  respond(one, { body: '{"name":"projects/shop-1/messages/9"}' });
const json = ({ body }: ReceivedPost) => JSON.parse(body.toString()) as unknown;

describe('a message', () => {
  test('is sent with its notification, its data and how long it is of use', async () => {
    const { send, base, messages, receiver } = await startService(FCM, accept);
    const to = { ...FCM.target(base), token: 'dev:ice' } as ReturnType<typeof FCM.target>;
    const content = {
      ...{ subject: '', html: '', title: 'سفارش شما', text: 'رسید', url: 'https://shop.example/o' },
      data: { order: '7' },
    };
    const messageId = 'c7.12.0123456789abcdef0123456789abcdef';
    expect(await send({ to, content, messageId, expiresAt: NOW + 90_500 })).toEqual({
      ...{ kind: 'accepted', providerMessageId: 'projects/shop-1/messages/9' },
    });
    const [message] = messages;
    expect(message?.path).toBe('/v1/projects/shop-1/messages:send');
    expect(message?.headers).toMatchObject({
      authorization: 'Bearer token-1',
      'content-type': 'application/json',
      ':authority': `push.example:${receiver.port}`,
    });
    const tag = expect.stringMatching(/^[\w-]{32}$/) as string;
    expect(json(message as ReceivedPost)).toEqual({
      message: {
        token: 'dev:ice',
        notification: { title: 'سفارش شما', body: 'رسید' },
        data: { order: '7', url: 'https://shop.example/o', sg_mid: messageId },
        android: { priority: 'high', ttl: '90s', notification: { tag } },
        apns: {
          headers: { 'apns-collapse-id': tag, 'apns-expiration': String(NOW / 1000 + 90) },
        },
        webpush: {
          headers: { TTL: '90', Topic: tag },
          fcm_options: { link: 'https://shop.example/o' },
        },
      },
    });
  });

  test('has the same tag each time, and another message has another one', async () => {
    const { send, messages } = await startService(FCM, accept);
    for (const messageId of ['t1.key-0001', 't1.key-0001', 't1.key-0002'])
      await send({ messageId });
    const tags = messages.map((one) => /"tag":"([^"]+)"/.exec(one.body.toString())?.[1]);
    expect(tags[0]).toBe(tags[1]);
    expect(tags[2]).not.toBe(tags[0]);
  });

  test('without title and text is only data, and its time is at least 0 and at most 28 days', async () => {
    const { send, messages } = await startService(FCM, accept);
    const content = { subject: '', title: '', text: '', html: '', url: '', data: {} };
    await send({ content, expiresAt: NOW - 1 });
    await send({ content, expiresAt: NOW + 10 ** 11 });
    expect(messages.map(json)).toMatchObject([
      { message: { android: { priority: 'high', ttl: '0s' } } },
      { message: { android: { ttl: '2419200s' } } },
    ]);
    expect(messages[0]?.body.toString()).not.toContain('notification');
  });

  test('of more than 4096 bytes is not sent', async () => {
    const { send, messages } = await startService(FCM, accept);
    const content = (text: string) => ({
      ...{ subject: '', title: '', html: '', url: '', data: {}, text },
    });
    // sg_mid and its value are data too.
    const messageId = 't1.key-0001';
    const rest = 4096 - 'sg_mid'.length - messageId.length;
    expect(await send({ messageId, content: content('س'.repeat(rest / 2)) })).toMatchObject({
      kind: 'accepted',
    });
    const tooLong = content('س'.repeat(rest / 2 + 1));
    expect(await send({ messageId, content: tooLong })).toMatchObject({
      ...{ kind: 'rejected', reason: 'too_large' },
    });
    expect(messages).toHaveLength(1);
  });
});

describe('an access token', () => {
  test('is asked for with an assertion that Google verifies', async () => {
    const { send, tokenRequests, receiver } = await startService(FCM, accept);
    await send();
    const form = new URLSearchParams(tokenRequests[0]?.body.toString());
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const { payload, protectedHeader } = await jwtVerify(form.get('assertion') ?? '', RSA_PUBLIC, {
      audience: `https://push.example:${receiver.port}/token`,
      issuer: 'sender@shop-1.iam.gserviceaccount.com',
      algorithms: ['RS256'],
      currentDate: new Date(NOW),
    });
    expect(protectedHeader.kid).toBe('key1');
    expect(payload['scope']).toBe('https://www.googleapis.com/auth/firebase.messaging');
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(3600);
  });

  test('is asked for once by many messages, and again 5 minutes before its end', async () => {
    let now = NOW;
    const { send, tokenRequests } = await startService(FCM, accept, { now: () => now });
    await Promise.all(Array.from({ length: 50 }, () => send()));
    now += 3_299_000;
    await send();
    expect(tokenRequests).toHaveLength(1);
    now += 1000;
    await Promise.all(Array.from({ length: 50 }, () => send()));
    expect(tokenRequests).toHaveLength(2);
  });

  test('that FCM refuses is replaced once, and the messages are sent with the new one', async () => {
    const { send, tokenRequests, messages } = await startService(FCM, (one) => {
      if (one.headers.authorization === 'Bearer token-1') respond(one, { status: 401 });
      else accept(one);
    });
    const answers = await Promise.all(Array.from({ length: 20 }, () => send()));
    expect(answers.map(({ kind }) => kind)).toEqual(Array(20).fill('accepted'));
    expect(tokenRequests).toHaveLength(2);
    expect(messages).toHaveLength(40);
  });

  const given = async (answer: (one: ReceivedPost) => void) => {
    const tokens = await http2Receiver(answer);
    const base = `https://push.example:${tokens.port}`;
    const provider = openProvider({
      ...{ channel: 'push', provider: 'fcm', config: FCM.config(base), accountId: 1 },
      ...{ secret: serviceAccount(tokens.port), deps: providerDeps({ allow: ['push.example'] }) },
    });
    const send = (signal = NEVER) => provider.send(messageTo(FCM.target(base)), { signal });
    return { send, received: tokens.received };
  };

  test.each<[string, (one: ReceivedPost) => void, object]>([
    [
      'refused: the sender is broken',
      (one) => respond(one, { status: 400, body: '{"error":"invalid_grant"}' }),
      {
        kind: 'broken',
        reason: 'credentials',
        detail: expect.stringContaining('invalid_grant') as string,
      },
    ],
    [
      'refused for the account',
      (one) => respond(one, { status: 401, body: '{"error":"invalid_client"}' }),
      { kind: 'broken', reason: 'credentials' },
    ],
    [
      'not given now',
      (one) => respond(one, { status: 503, headers: { 'retry-after': '9' } }),
      { kind: 'retry', reason: 'unavailable', afterMs: 9000 },
    ],
    ['not given by a gateway', (one) => respond(one, { status: 504 }), { kind: 'retry' }],
    ['lost: no message was sent', ({ stream }) => stream.close(2), { kind: 'retry' }],
    ['unreadable', (one) => respond(one, { body: '<html>' }), { kind: 'retry' }],
    [
      'one that would break a header',
      (one) => respond(one, { body: '{"access_token":"a\\r\\nx: y"}' }),
      { kind: 'retry' },
    ],
  ])('is %s', async (_, answer, expected) => {
    const { send, received } = await given(answer);
    expect(await send()).toMatchObject(expected);
    // Others have the same answer for some seconds.
    expect(await send()).toMatchObject(expected);
    expect(received.map(({ path }) => path)).toEqual(['/token']);
  });

  test('is not waited for when the caller stops', async () => {
    const stop = new AbortController();
    const { send } = await given(() => stop.abort());
    expect(await send(stop.signal)).toMatchObject({ kind: 'retry', reason: 'aborted' });
    await delay(0);
  });
});

test('a key file may not lead to a forbidden address', async () => {
  const { base } = await startService(FCM, accept);
  const secret = JSON.stringify({
    ...(JSON.parse(serviceAccount(1)) as object),
    token_uri: 'http://169.254.169.254/token',
  });
  const provider = openProvider({
    ...{ channel: 'push', provider: 'fcm', config: FCM.config(base), accountId: 1, secret },
    deps: providerDeps({ allow: ['push.example'] }),
  });
  expect(await provider.send(messageTo(FCM.target(base)), { signal: NEVER })).toMatchObject({
    ...{ kind: 'broken', reason: 'address_refused' },
  });
});
