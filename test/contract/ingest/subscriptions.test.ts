import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createAccount, type TestAccount } from '../../support/stack.ts';
import { channelsOnce } from '../../support/channels.ts';
import { openPostgres } from '../../support/stack-clients.ts';
import { ask, CORS, specified } from './host.ts';

const database = openPostgres();
const OK = { status: 200, body: { status: 'ok' } };

let account: TestAccount;
let user: string;
let serial = 0;

beforeAll(async () => {
  account = await createAccount('subscriptions');
});
beforeEach(() => {
  user = `owner ${process.pid} ${serial++}`;
});

async function post(path: string, body: unknown, key = account.writeKey) {
  const headers: Record<string, string> = key === '' ? {} : { 'X-Service-Key': key };
  const { status, text, headers: sent } = await ask({ path, body, headers });
  expect(specified(sent)).toEqual({ 'content-type': 'application/json; charset=utf-8', ...CORS });
  return { status, body: JSON.parse(text) as unknown };
}
const refused = (message: string, status = 400) => ({ status, body: { status: 'error', message } });

const reachableOnce = (userId: string, wanted: string[]) =>
  channelsOnce(database, { accountId: account.accountId, userId }, ({ addresses }) => {
    const found = addresses.map(
      ({ channel, id, active, reason }) => `${channel} ${id}: ${active ? 'active' : reason}`,
    );
    return found.toSorted().join() === wanted.toSorted().join();
  });

describe('what is common to these routes (ingest 4.1, 7.1)', () => {
  it.each([
    '/v1/webpush/subscribe',
    '/v1/webpush/unsubscribe',
    '/v1/messenger/link',
    '/v1/messenger/unlink',
    '/v1/devices/unregister',
  ])('%s needs a key, JSON and at most 5 MiB, and answers a preflight', async (path) => {
    expect(await post(path, {}, '')).toEqual(refused('missing write key', 401));
    expect(await post(path, {}, 'nobody')).toEqual(refused('invalid write key', 401));
    expect(await post(path, 'x'.repeat(5_242_881))).toEqual(refused('request body too large', 413));
    for (const body of ['', '{', '[]', '5']) {
      expect(await post(path, body)).toEqual(refused('malformed JSON'));
    }
    const preflight = await ask({ method: 'OPTIONS', path });
    expect([preflight.status, specified(preflight.headers)]).toEqual([204, CORS]);
    const got = await ask({ method: 'GET', path });
    expect([got.status, got.headers.allow]).toEqual([405, 'POST, OPTIONS']);
  });
});

describe('POST /v1/webpush/subscribe and unsubscribe (ingest 4.2, 7.4)', () => {
  const INCOMPLETE = 'user_id and a complete subscription are required';
  const keys = { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) };
  const endpoint = () => `https://push.example/${encodeURIComponent(user)}`;
  const subscription = (more: object = {}) => ({ endpoint: endpoint(), keys, ...more });
  const subscribe = (more: object = {}) =>
    post('/v1/webpush/subscribe', { user_id: user, subscription: subscription(), ...more });
  const unsubscribe = (body: unknown) => post('/v1/webpush/unsubscribe', body);

  it('keep the browser of a user until it unsubscribes', async () => {
    expect(await subscribe()).toEqual(OK);
    const { addresses } = await reachableOnce(user, [`web ${endpoint()}: active`]);
    expect(addresses).toMatchObject([{ channel: 'web', kind: 'browser', provider: '' }]);
    expect(await unsubscribe({ endpoint: endpoint() })).toEqual(OK);
    await reachableOnce(user, [`web ${endpoint()}: unsubscribed`]);
  });

  it('give a browser to the last user that subscribed with it', async () => {
    await subscribe();
    expect(await subscribe({ user_id: `${user} next` })).toEqual(OK);
    await reachableOnce(`${user} next`, [`web ${endpoint()}: active`]);
    await reachableOnce(user, []);
  });

  it('take keys as base64, too', async () => {
    const base64 = { p256dh: `${keys.p256dh}=`, auth: `${keys.auth}==` };
    expect(await subscribe({ subscription: subscription({ keys: base64 }) })).toEqual(OK);
  });

  it.each<[object, string]>([
    [{ user_id: undefined }, INCOMPLETE],
    [{ user_id: '' }, INCOMPLETE],
    [{ user_id: 'u'.repeat(257) }, 'user_id is too long: at most 256 bytes'],
    [{ subscription: undefined }, INCOMPLETE],
    [{ subscription: {} }, INCOMPLETE],
    [{ subscription: { endpoint: 'https://push.example/1' } }, INCOMPLETE],
    [{ subscription: { endpoint: 'https://push.example/1', keys: { auth: 'A' } } }, INCOMPLETE],
    [{ subscription: { keys } }, INCOMPLETE],
    [
      { subscription: { endpoint: 'ftp://push.example', keys } },
      'subscription.endpoint must be an https URL',
    ],
    [
      { subscription: { endpoint: `https://push.example/${'x'.repeat(2048)}`, keys } },
      'subscription.endpoint is too long: at most 2048 bytes',
    ],
    [
      { subscription: { endpoint: 'https://push.example/1', keys: { ...keys, auth: 'AAAA' } } },
      'subscription.keys.auth must be 16 bytes as base64url',
    ],
    [
      { subscription: { endpoint: 'https://push.example/1', keys: { ...keys, p256dh: 'AAAA' } } },
      'subscription.keys.p256dh must be 65 bytes as base64url',
    ],
    [{ subscription: 'x' }, 'malformed JSON'],
  ])('refuse a subscription: %j', async (more, message) => {
    expect(await subscribe(more)).toEqual(refused(message));
  });

  it.each<[object, string]>([
    [{}, 'endpoint is required'],
    [{ endpoint: '' }, 'endpoint is required'],
    [{ endpoint: 'x'.repeat(2049) }, 'endpoint is too long: at most 2048 bytes'],
    [{ endpoint: 5 }, 'malformed JSON'],
  ])('refuse to unsubscribe %j', async (body, message) => {
    expect(await unsubscribe(body)).toEqual(refused(message));
  });
});

describe('POST /v1/messenger/link and unlink (ingest 4.2, 7.4)', () => {
  const LINK = 'user_id, chat_id and a known platform are required';
  const UNLINK = 'user_id and a known platform are required';
  const link = (more: object = {}) =>
    post('/v1/messenger/link', { user_id: user, platform: 'bale', chat_id: user, ...more });
  const unlink = (more: object = {}) =>
    post('/v1/messenger/unlink', { user_id: user, platform: 'bale', ...more });

  it.each(['bale', 'eitaa', 'rubika'])('link a chat of %s and unlink it', async (platform) => {
    expect(await link({ platform })).toEqual(OK);
    const { addresses } = await reachableOnce(user, [`${platform} ${user}: active`]);
    expect(addresses).toMatchObject([{ channel: platform, kind: 'chat', provider: '' }]);
    expect(await unlink({ platform, chat_id: user })).toEqual(OK);
    await reachableOnce(user, [`${platform} ${user}: unlinked`]);
  });

  it('keep a number as its text, and unlink all chats of a platform without a chat_id', async () => {
    const chat = 4_503_599_627_370_497 + serial;
    expect(await link({ chat_id: chat })).toEqual(OK);
    expect(await link({ chat_id: user })).toEqual(OK);
    await reachableOnce(user, [`bale ${chat}: active`, `bale ${user}: active`]);
    expect(await unlink()).toEqual(OK);
    await reachableOnce(user, [`bale ${chat}: unlinked`, `bale ${user}: unlinked`]);
  });

  it('give a chat to the last user that linked it, whom others cannot unlink', async () => {
    await link();
    const next = `${user} next`;
    expect(await link({ user_id: next })).toEqual(OK);
    expect(await unlink({ chat_id: user })).toEqual(OK);
    await reachableOnce(next, [`bale ${user}: active`]);
    await reachableOnce(user, []);
  });

  it.each<[object, string]>([
    [{ user_id: '' }, LINK],
    [{ user_id: undefined }, LINK],
    [{ platform: 'telegram' }, LINK],
    [{ platform: undefined }, LINK],
    [{ chat_id: undefined }, LINK],
    [{ chat_id: '' }, LINK],
    [{ user_id: 'u'.repeat(257) }, 'user_id is too long: at most 256 bytes'],
    [{ chat_id: 'c'.repeat(257) }, 'chat_id is too long: at most 256 bytes'],
    [{ chat_id: 2 ** 53 }, 'chat_id is not an exact integer: send it as a string'],
    [{ chat_id: {} }, 'malformed JSON'],
  ])('refuse a chat: %j', async (more, message) => {
    expect(await link(more)).toEqual(refused(message));
  });

  it.each<[object, string]>([
    [{ user_id: '' }, UNLINK],
    [{ platform: 'telegram' }, UNLINK],
    [{ platform: undefined }, UNLINK],
    [{ user_id: 'u'.repeat(257) }, 'user_id is too long: at most 256 bytes'],
    [{ user_id: 5 }, 'malformed JSON'],
  ])('refuse to unlink %j', async (more, message) => {
    expect(await unlink(more)).toEqual(refused(message));
  });
});
