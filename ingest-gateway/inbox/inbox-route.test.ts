import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ChannelChange } from '../../events/channels/channel-change.ts';
import { inboxSecretPurpose } from '../../events/channels/inbox-credential.ts';
import type { JsonObject } from '../../events/json.ts';
import { createLog } from '../../platform/log.ts';
import { makeSealingKey, parseSealingKeys } from '../../platform/sealing.ts';
import type { ChannelRoute } from '../channels/channel-server.ts';
import { connectInbox } from './connect-inbox.ts';
import type { InboxStore } from './inbox-store.ts';

const APP = { accountId: 1, appId: 7 };
const sealer = parseSealingKeys(makeSealingKey('k'));
if (!sealer) throw new Error('no key');
const seal = (secret: string) => sealer.seal(secret, inboxSecretPurpose(APP));

let entries: Map<string, boolean>;
let secrets: Buffer[];
let published: ChannelChange[];
let isDurable: boolean;
let isDown: boolean;
let lookups: number;
let now: number;
let steps: string[];

const store: InboxStore = {
  secrets: () => {
    lookups++;
    if (isDown) return Promise.reject(new Error('down'));
    return Promise.resolve(new Map([[7, { accountId: 1, sealed: secrets }]]));
  },
  unread: (_user, which) =>
    Promise.resolve(
      [...entries].flatMap(([id, isRead]) =>
        !isRead && (which === 'all' || which.includes(id)) ? [id] : [],
      ),
    ),
  markRead: ({ ids }) => {
    steps.push('stored');
    if (isDown) return Promise.reject(new Error('down'));
    for (const id of ids) entries.set(id, true);
    return Promise.resolve();
  },
  list: (_user, { limit }) => {
    const found = [...entries].slice(0, limit);
    const messages = found.map(([id, read]) => ({
      ...{ id, title: '', body: '', created_at: '', read },
    }));
    const unread = [...entries.values()].filter((isRead) => !isRead).length;
    return Promise.resolve({ messages, unread });
  },
};

let route: ChannelRoute;
beforeEach(() => {
  entries = new Map(Array.from({ length: 30 }, (_, at) => [`m${at}`, false]));
  secrets = [seal('s1')];
  published = [];
  steps = [];
  isDurable = true;
  isDown = false;
  lookups = 0;
  now = 1_000_000;
  route = connectInbox({
    store,
    sealer,
    writer: {
      write: (change) => {
        steps.push('published');
        if (isDurable) published.push(change);
        return Promise.resolve(isDurable);
      },
    },
    log: createLog({ part: 'test', level: 'silent' }),
    now: () => now,
  });
});

const hashBy = (secret: string, user = 'u') =>
  createHmac('sha256', secret).update(user).digest('hex');

interface Shown {
  messages: { id: string; read: boolean }[];
  unread: number;
}

async function post(body: JsonObject, principal = APP): Promise<[number, Partial<Shown>]> {
  const answer = await route.answer({
    ...{ body, query: '', trace: 't', receivedAt: now, ip: '', userAgent: '' },
    principal: { ...principal, writeKeyId: 1 },
  });
  return [answer.status, JSON.parse(answer.body) as Partial<Shown>];
}
const inbox = (change: JsonObject = {}) =>
  post({ user_id: 'u', user_hash: hashBy('s1'), ...change });

describe('POST /v1/inbox', () => {
  it('answers the newest 20 entries and how many of all are unread', async () => {
    const [status, { messages, unread }] = await inbox();
    expect([status, messages?.length, unread]).toEqual([200, 20, 30]);
    expect(published).toEqual([]);
  });

  it.each([
    [0, 0],
    [5, 5],
    [25, 25],
    [100, 30],
    [5000, 30],
  ])('answers at most %i entries', async (limit, count) => {
    entries = new Map([...entries].slice(0, 30));
    expect((await inbox({ limit }))[1].messages).toHaveLength(count);
  });

  it.each([
    [{ user_id: '' }, 400, 'user_id is required'],
    [{ user_id: undefined }, 400, 'user_id is required'],
    [{ user_id: 'ش'.repeat(129) }, 400, 'user_id is too long: at most 256 bytes'],
    [{ user_hash: undefined }, 403, 'user identity is not verified'],
    [{ user_hash: hashBy('s1', 'u2') }, 403, 'user identity is not verified'],
    [{ user_hash: 'x', limit: -1 }, 403, 'user identity is not verified'],
    [{ limit: -1 }, 400, 'limit is not a whole number from 0'],
    [{ limit: 1.5 }, 400, 'limit is not a whole number from 0'],
    [{ limit: '5' }, 400, 'limit is not a whole number from 0'],
    [{ read: 'm1' }, 400, 'read is not a list of at most 1000 message ids'],
    [{ read: [1] }, 400, 'read is not a list of at most 1000 message ids'],
    [
      { read: Array.from({ length: 1001 }, String) },
      ...([400, 'read is not a list of at most 1000 message ids'] as const),
    ],
    [{ read_all: 'yes' }, 400, 'read_all is neither true nor false'],
    [{ before: 5 }, 400, 'before is not the id of a message'],
  ])('refuses with an error of its own shape: %j', async (change, status, error) => {
    expect(await inbox(change)).toEqual([status, { error }]);
  });

  it('refuses a user whose id is no text as malformed JSON', async () => {
    await expect(inbox({ user_id: 5 })).rejects.toThrow('user_id is not a string');
    expect(JSON.parse(route.malformed?.body ?? '')).toMatchObject({ error: 'malformed JSON' });
  });

  it('answers what it marks as read as read', async () => {
    const [, { messages, unread }] = await inbox({ read: ['m3', 'm1', 'unknown'] });
    const read = messages?.filter((one) => one.read).map(({ id }) => id);
    expect([read, unread]).toEqual([['m1', 'm3'], 28]);
    expect((await inbox({ read_all: true }))[1].unread).toBe(0);
  });

  it('publishes a read before it stores it, with the entries that were unread', async () => {
    await inbox({ read: ['m3', 'unknown'] });
    expect(steps).toEqual(['published', 'stored']);
    expect(published).toMatchObject([
      {
        ...{ kind: 'inbox_read', channel: 'inapp', user_id: 'u' },
        inbox: { ids: ['m3'] },
      },
    ]);
    await inbox({ read_all: true });
    expect(published[1]?.inbox?.ids).toHaveLength(29);
  });

  it('publishes nothing when nothing new is read', async () => {
    await inbox({ read: ['unknown'] });
    await inbox({ read: [] });
    await inbox({ read_all: true });
    await inbox({ read_all: true });
    expect(published).toHaveLength(1);
  });

  it('counts exactly when several tabs read at once', async () => {
    const tabs = Array.from({ length: 30 }, (_, at) => inbox({ read: [`m${at}`, 'm0'] }));
    const answers = await Promise.all(tabs);
    expect((await inbox())[1].unread).toBe(0);
    for (const [at, [, { messages }]] of answers.entries())
      if (at < 20) expect(messages?.[at]).toEqual(expect.objectContaining({ read: true }));
  });

  it('is answered 503 when the read is not durable, and stores nothing', async () => {
    isDurable = false;
    const error = 'temporarily unavailable, please retry';
    expect(await inbox({ read: ['m1'] })).toEqual([503, { error }]);
    expect(steps).toEqual(['published']);
  });

  it('is answered 503 when PostgreSQL is unreachable, also after the read was published', async () => {
    await inbox();
    isDown = true;
    const error = 'temporarily unavailable, please retry';
    expect(await inbox({ read: ['m1'] })).toEqual([503, { error }]);
    now += 10_000;
    expect(await inbox()).toEqual([503, { error }]);
  });
});

describe('the secrets of an app', () => {
  it('are read once for many requests', async () => {
    for (let time = 0; time < 10; time++) await inbox();
    expect(lookups).toBe(1);
  });

  it('work at once when they are new, and as long as they are live', async () => {
    await inbox();
    secrets = [seal('s2'), seal('s1')];
    now += 600;
    expect((await inbox({ user_hash: hashBy('s2') }))[0]).toBe(200);
    expect((await inbox())[0]).toBe(200);
    secrets = [seal('s3'), seal('s2')];
    now += 5000;
    expect((await inbox())[0]).toBe(403);
  });

  it('of another account do not count', async () => {
    const body = { user_id: 'u', user_hash: hashBy('s1') };
    expect((await post(body, { accountId: 2, appId: 7 }))[0]).toBe(403);
  });

  it('that cannot be opened are our fault', async () => {
    const other = parseSealingKeys(makeSealingKey('other'));
    secrets = [other?.seal('s1', inboxSecretPurpose(APP)) ?? Buffer.alloc(0)];
    expect((await inbox())[0]).toBe(503);
  });
});
