import { createHmac } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addInboxEntries } from '../../../platform/inbox/inbox-entries.ts';
import { admin, createAccount, type TestAccount } from '../../support/stack.ts';
import { openPostgres } from '../../support/stack-clients.ts';
import { ask, CORS, specified } from './host.ts';

const database = openPostgres();
const NOT_VERIFIED = { error: 'user identity is not verified' };

let account: TestAccount;
let appId: number;
let secret: string;
let user: string;
let serial = 0;

beforeAll(async () => {
  account = await createAccount('inbox');
  const { rows } = await database.query<{ id: string }>(
    'SELECT id FROM apps WHERE account_id = $1',
    [account.accountId],
  );
  appId = Number(rows[0]?.id);
  secret = await inboxSecret();
});

beforeEach(async () => {
  user = `کاربر ${process.pid} ${serial++}`;
  await addInboxEntries(
    database,
    Array.from({ length: 25 }, (_, at) => ({
      ...{ accountId: account.accountId, userId: user, id: `m${at}`, title: `عنوان ${at}` },
      ...{ body: 'متن', url: 'https://x.ir/', data: { at }, createdAt: 1_700_000_000_000 + at },
    })),
  );
});

async function inboxSecret(...options: string[]): Promise<string> {
  const { inbox_secret } = await admin<{ inbox_secret: string }>(
    ...['app', 'secret', '--account', String(account.accountId), '--app-id', String(appId)],
    ...options,
  );
  return inbox_secret;
}

const hashBy = (key: string, id = user) => createHmac('sha256', key).update(id).digest('hex');
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function token(claims: object): string {
  const text = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}

interface Inbox {
  messages: { id: string; read: boolean }[];
  unread: number;
}

async function inbox(body: object = {}, credential: object = { user_hash: hashBy(secret) }) {
  const { status, text, headers } = await ask({
    ...{ path: '/v1/inbox', body: { user_id: user, ...credential, ...body } },
    headers: { 'X-Service-Key': account.writeKey },
  });
  return { status, headers, answer: JSON.parse(text) as Inbox };
}

describe('POST /v1/inbox (ingest 4.2, 5.2, 7.4)', () => {
  it('lists entries newest first, 20 by default and 100 at most', async () => {
    const { status, headers, answer } = await inbox();
    expect([status, answer.messages.length, answer.unread]).toEqual([200, 20, 25]);
    expect(specified(headers)).toMatchObject(CORS);
    expect(answer.messages[0]).toEqual({
      ...{ id: 'm24', title: 'عنوان 24', body: 'متن', url: 'https://x.ir/', data: { at: 24 } },
      ...{ created_at: new Date(1_700_000_000_024).toISOString(), read: false },
    });
    expect((await inbox({ limit: 1000 })).answer.messages).toHaveLength(25);
    const older = await inbox({ limit: 3, before: 'm2' });
    expect(older.answer.messages.map(({ id }) => id)).toEqual(['m1', 'm0']);
  });

  it('accepts a token of the app instead of the hash', async () => {
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const sent = (claims: object) => inbox({}, { user_token: token(claims) });
    expect((await sent({ sub: user, aud: String(appId), exp })).status).toBe(200);
    expect(await sent({ sub: user, aud: String(appId), exp: exp + 86_400 })).toMatchObject({
      ...{ status: 403, answer: NOT_VERIFIED },
    });
    expect((await sent({ sub: user, aud: String(appId + 1), exp })).status).toBe(403);
  });

  it.each([
    [{ user_id: '' }, 400, { error: 'user_id is required' }],
    [{ user_hash: undefined }, 403, NOT_VERIFIED],
    [{ user_hash: 'ff'.repeat(32) }, 403, NOT_VERIFIED],
    [{ limit: -1 }, 400, { error: 'limit is not a whole number from 0' }],
  ])('refuses %j', async (body, status, answer) => {
    expect(await inbox(body)).toMatchObject({ status, answer });
  });

  it('answers what it marks as read as read, and so does every later request', async () => {
    const { answer } = await inbox({ read: ['m24', 'm0', 'unknown'], limit: 2 });
    expect(answer).toMatchObject({
      messages: [
        { id: 'm24', read: true },
        { id: 'm23', read: false },
      ],
      unread: 23,
    });
    expect((await inbox({ read_all: true })).answer.unread).toBe(0);
    expect((await inbox()).answer.messages.every(({ read }) => read)).toBe(true);
  });

  it('counts exactly when several tabs read at once', async () => {
    const tabs = await Promise.all(
      Array.from({ length: 25 }, (_, at) => inbox({ read: [`m${at}`, 'm0'], limit: 100 })),
    );
    for (const [at, { status, answer }] of tabs.entries()) {
      expect(status).toBe(200);
      expect(answer.messages.find(({ id }) => id === `m${at}`)?.read).toBe(true);
      expect(answer.unread).toBe(answer.messages.filter(({ read }) => !read).length);
    }
    expect((await inbox()).answer.unread).toBe(0);
  });

  it('accepts the secret before a rotation until the next one', async () => {
    const before = secret;
    secret = await inboxSecret('--rotate');
    expect((await inbox()).status).toBe(200);
    expect((await inbox({}, { user_hash: hashBy(before) })).status).toBe(200);
    secret = await inboxSecret('--rotate');
    expect((await inbox()).status).toBe(200);
    await expect
      .poll(async () => (await inbox({}, { user_hash: hashBy(before) })).status, {
        timeout: 15_000,
      })
      .toBe(403);
  });
});
