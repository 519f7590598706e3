import { createECDH, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decrypt } from 'http_ece';
import { decodeProtectedHeader, jwtVerify, type KeyObject } from 'jose';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Channel } from '../../../events/channels/channel-change.ts';
import type { TemplateContent } from '../../../messaging/templates/template.ts';
import { MessageAccount } from '../../support/messages/message-account.ts';
import { MessageHost } from '../../support/messages/message-host.ts';
import {
  startReceivers,
  type ProviderReceivers,
} from '../../support/messages/provider-receivers.ts';
import { registerPerson } from '../../support/messages/reachable-person.ts';
import { eventually } from '../../support/stack.ts';
import { openPostgres } from '../../support/stack-clients.ts';

/**
 * What providers send reaches servers that know only the protocols: signatures are verified and
 * messages are decrypted by jose, http_ece, mailauth and postal-mime.
 */

const database = openPostgres();
const RUN = randomBytes(4).toString('hex');
const USER = `protocols-${RUN}`;
const DEVICES = { fcm: `fcm:${RUN}`, apns: randomBytes(32).toString('hex') };
const WORDS = 'سلام {{ user.first_name }}، کد {{ vars.code }}';
const TEXT = 'سلام نرگس، کد ۱۲۳';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const dkim = generateKeyPairSync('rsa', { modulusLength: 2048 });
const apple = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const vapid = createECDH('prime256v1');
const browser = { ecdh: createECDH('prime256v1'), auth: randomBytes(16).toString('base64url') };
vapid.generateKeys();
browser.ecdh.generateKeys();

let receivers: ProviderReceivers;
let host: MessageHost;
let owner: MessageAccount;

beforeAll(async () => {
  receivers = await startReceivers();
  host = await MessageHost.start(
    { port: 0 },
    {
      ...receivers.env,
      TRACKING_KEYS: readFileSync(join(process.env['RAVAND_HOME'] ?? '', 'tracking-keys'), 'utf8'),
      EMAIL_TRACK_BASE: 'https://news.shop.example',
    },
  );
  owner = await MessageAccount.create(database, 'protocols');
  await registerPerson(owner.account.writeKey, USER, {
    ...{ email: `${USER}@mail.example`, phone: '09121234567', devices: DEVICES },
    subscription: {
      endpoint: `${receivers.push.url}/wpush/v2/${RUN}`,
      keys: { p256dh: browser.ecdh.getPublicKey('base64url'), auth: browser.auth },
    },
    chats: { bale: '4503599627370495', eitaa: '77', rubika: 'b0AbC' },
  });
}, 180_000);
afterAll(async () => {
  await host.close();
  receivers.close();
});

let requests = 0;

/** Asks until the person is known on the channel; answers the id of the message. */
async function send(channel: Channel, content: TemplateContent): Promise<string> {
  const template_id = await owner.template(channel, content);
  const message = { user_id: USER, template_id, channel, vars: { code: '۱۲۳' } };
  return await eventually({ ms: 60_000, every: 500, waitingFor: channel }, async () => {
    const idempotency_key = `${RUN}-${requests++}`;
    const { status, body } = await host.post(owner.account.managementKey, {
      ...{ ...message, idempotency_key },
    });
    if (body['reason'] === 'no_address') return undefined;
    expect([status, body]).toMatchObject([200, { status: 'sent' }]);
    return String(body['message_id']);
  });
}

const pushed = (part: string) => receivers.push.received.find(({ path }) => path.includes(part));
/** A request to a push service with a message in plain text. */
const messageOf = (id: string, part: string) =>
  receivers.push.received.find(({ path, body }) => path.includes(part) && body.includes(id));
const called = (part: string) => receivers.api.received.find(({ url }) => url.includes(part));
const json = (body: Buffer | string | undefined) => JSON.parse(String(body)) as unknown;
const pem = (key: { export: (as: { type: 'pkcs8'; format: 'pem' }) => string | Buffer }) =>
  key.export({ type: 'pkcs8', format: 'pem' }).toString();
const PUSH = { title: 'سفارش', text: WORDS, data: { order: '7' } };

describe('an e-mail', () => {
  it('is signed with DKIM, one-click headers included, and is what its template says', async () => {
    const signing = { selector: 's1', private_key: pem(dkim.privateKey) };
    await owner.sender('email', 'smtp', {
      config: {
        ...{ host: '127.0.0.1', port: receivers.smtp.port, from: 'روند <news@shop.example>' },
        bounce_domain: 'bounce.shop.example',
      },
      secret: JSON.stringify({ dkim: signing }),
    });
    const id = await send('email', { subject: 'سفارش شما', text: WORDS, html: `<p>${WORDS}</p>` });
    const [{ envelope, mail } = { envelope: undefined, mail: Buffer.alloc(0) }] =
      receivers.smtp.received;
    const published = dkim.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    const { results } = await dkimVerify(mail, {
      resolver: (name: string) =>
        name === 's1._domainkey.shop.example'
          ? Promise.resolve([[`v=DKIM1; k=rsa; p=${published}`]])
          : Promise.reject(new Error(name)),
    });
    expect(results.map(({ status }) => status)).toMatchObject([
      { result: 'pass', aligned: 'shop.example' },
    ]);
    expect(results[0]?.signingHeaders?.keys.toLowerCase().split(': ')).toEqual(
      expect.arrayContaining(['from', 'subject', 'list-unsubscribe', 'list-unsubscribe-post']),
    );
    const read = await PostalMime.parse(mail);
    expect(read).toMatchObject({
      ...{ subject: 'سفارش شما', from: { name: 'روند', address: 'news@shop.example' } },
      ...{ to: [{ address: `${USER}@mail.example` }], messageId: `<${id}@shop.example>` },
    });
    expect(read.text).toContain(TEXT);
    expect(read.html).toContain(TEXT);
    const header = (name: string) => read.headers.find(({ key }) => key === name)?.value;
    expect(header('list-unsubscribe')).toMatch(/^<https:\/\/news\.shop\.example\/e\/u\/[\w-]+>$/);
    expect(header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
    expect(envelope).toMatchObject({
      mailFrom: { address: expect.stringMatching(/^[\w-]+@bounce\.shop\.example$/) as string },
      rcptTo: [{ address: `${USER}@mail.example` }],
      dsn: { envid: id },
    });
  });
});

describe('a message to an Android phone and an iPhone', () => {
  const client_email = 'sender@shop-1.iam.gserviceaccount.com';
  let token_uri: string;
  let id: string;
  beforeAll(async () => {
    token_uri = `${receivers.push.url}/token`;
    await owner.sender('push', 'fcm', {
      config: { project_id: 'shop-1', url: receivers.push.url },
      secret: JSON.stringify({
        ...{ type: 'service_account', project_id: 'shop-1', private_key_id: 'key-1' },
        ...{ private_key: pem(rsa.privateKey), client_email, token_uri },
      }),
    });
    await owner.sender('push', 'apns', {
      config: {
        ...{ team_id: 'TEAM123456', key_id: 'KEY1234567', topic: 'ir.shop.app' },
        url: receivers.push.url,
      },
      secret: pem(apple.privateKey),
    });
    id = await eventually({ ms: 60_000, waitingFor: 'both devices' }, async () => {
      const sent = await send('push', PUSH);
      const both = receivers.push.received.filter(({ body }) => body.includes(sent));
      return both.length === 2 ? sent : undefined;
    });
  });

  it('reaches FCM with a token for which the service account signed', async () => {
    const asked = new URLSearchParams(pushed('/token')?.body.toString());
    expect(asked.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const { payload } = await jwtVerify(asked.get('assertion') ?? '', rsa.publicKey, {
      ...{ algorithms: ['RS256'], issuer: client_email, audience: token_uri },
      maxTokenAge: '1 minute',
    });
    expect(payload).toMatchObject({
      scope: 'https://www.googleapis.com/auth/firebase.messaging',
    });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBeLessThanOrEqual(3600);
    const request = messageOf(id, '/v1/projects/shop-1/messages:send');
    expect(request?.headers.authorization).toBe('Bearer given-token');
    expect(json(request?.body)).toMatchObject({
      message: {
        ...{ token: DEVICES.fcm, notification: { title: 'سفارش', body: TEXT } },
        ...{ data: { order: '7', sg_mid: id }, android: { priority: 'high' } },
      },
    });
  });

  it('reaches APNs with a token of its key', async () => {
    const request = messageOf(id, `/3/device/${DEVICES.apns}`);
    const token = (request?.headers.authorization ?? '').replace(/^bearer /, '');
    const { payload } = await jwtVerify(token, apple.publicKey, {
      ...{ algorithms: ['ES256'], issuer: 'TEAM123456', maxTokenAge: '1 hour' },
    });
    expect(Object.keys(payload).sort()).toEqual(['iat', 'iss']);
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'ES256', kid: 'KEY1234567' });
    expect(request?.headers).toMatchObject({
      ...{ ':method': 'POST', 'apns-topic': 'ir.shop.app', 'apns-push-type': 'alert' },
      ...{ 'apns-priority': '10', 'apns-id': expect.stringMatching(/^[\da-f-]{36}$/) as string },
    });
    expect(json(request?.body)).toEqual({
      ...{ order: '7', sg_mid: id },
      aps: { alert: { title: 'سفارش', body: TEXT }, sound: 'default' },
    });
  });
});

describe('a message to browsers', () => {
  it('is encrypted for the browser and signed with the VAPID key', async () => {
    await owner.sender('web', 'webpush', {
      config: { subject: 'mailto:push@shop.example' },
      secret: vapid.getPrivateKey('base64url'),
    });
    const id = await send('web', { ...PUSH, url: 'https://shop.example/o' });
    const request = pushed(`/wpush/v2/${RUN}`);
    const [, token = '', k = ''] =
      /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(request?.headers.authorization ?? '') ?? [];
    expect(k).toBe(vapid.getPublicKey('base64url'));
    const { payload } = await jwtVerify(token, keyOfPoint(vapid.getPublicKey()), {
      ...{ algorithms: ['ES256'], audience: receivers.push.url },
    });
    expect(payload.sub).toBe('mailto:push@shop.example');
    expect((payload.exp ?? Infinity) - Date.now() / 1000).toBeLessThanOrEqual(86_400);
    expect(request?.headers).toMatchObject({
      ...{ 'content-encoding': 'aes128gcm', ttl: expect.stringMatching(/^\d+$/) as string },
    });
    const keys = { privateKey: browser.ecdh, authSecret: browser.auth };
    const plain = decrypt(request?.body ?? Buffer.alloc(0), { version: 'aes128gcm', ...keys });
    expect(json(plain)).toEqual({
      ...{ title: 'سفارش', body: TEXT, data: { order: '7' }, sg_mid: id },
      url: `https://shop.example/o?sg_mid=${id}`,
    });
  });
});

describe('a text message', () => {
  it('reaches Kavenegar as its form, with a localid of 63 bits', async () => {
    const config = { sender: '10004346', url: receivers.api.url };
    await owner.sender('sms', 'kavenegar', { config, secret: 'api-key' });
    await send('sms', { text: WORDS });
    const request = called('/v1/api-key/sms/send.json');
    expect(request?.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/);
    const form = Object.fromEntries(new URLSearchParams(request?.body));
    expect(form).toEqual({
      ...{ receptor: '+989121234567', message: TEXT, sender: '10004346' },
      localid: expect.stringMatching(/^[1-9]\d{0,18}$/) as string,
    });
    expect(BigInt(form['localid'] ?? 0) < 2n ** 63n).toBe(true);
  });
});

describe('a message to a chat', () => {
  it.each([
    ['bale', '/botbot-token/sendMessage', { chat_id: 4_503_599_627_370_495, text: TEXT }],
    ['eitaa', '/api/app/sendMessage', { token: 'bot-token', chat_id: 77, text: TEXT }],
    ['rubika', '/v3/bot-token/sendMessage', { chat_id: 'b0AbC', text: TEXT }],
  ] as const)('reaches %s as its documents say', async (channel, path, body) => {
    const config = { url: receivers.api.url };
    await owner.sender(channel, channel, { config, secret: 'bot-token' });
    await send(channel, { text: WORDS });
    const request = called(path);
    expect(request).toMatchObject({ method: 'POST', url: path });
    expect(json(request?.body)).toEqual(body);
  });
});

/** An uncompressed point of P-256 as a key. */
function keyOfPoint(point: Buffer): KeyObject {
  const [x, y] = [point.toString('base64url', 1, 33), point.toString('base64url', 33)];
  return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
}
