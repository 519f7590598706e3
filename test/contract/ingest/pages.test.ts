import { gzipSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admin, createAccount, eventually, rows, type TestAccount } from '../../support/stack.ts';
import { channelsOnce, trackedMessage } from '../../support/channels.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';
import { ask, type Sent } from './host.ts';

const database = openPostgres();
const warehouse = openClickhouse();
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
const ONE_CLICK = 'List-Unsubscribe=One-Click';
/** What the policy of every page allows. */
const POLICY =
  /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/;

let account: TestAccount;
let user: string;
let message: Awaited<ReturnType<typeof trackedMessage>>;
let serial = 0;

beforeAll(async () => {
  account = await createAccount('فروشگاه <صفحه>');
});
beforeEach(async () => {
  user = `reader-${process.pid}-${serial++}`;
  message = await trackedMessage(database, { accountId: account.accountId, userId: user });
});

/** Sends, and checks what every answer has. */
async function send({ method = 'GET', headers, ...sent }: Sent) {
  const answer = await ask({
    ...{ ...sent, method },
    headers: { Origin: 'https://shop.example', ...headers },
  });
  expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual(
    [],
  );
  expect(answer.headers).toMatchObject({
    ...{ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
    ...{ 'referrer-policy': 'no-referrer' },
    'content-security-policy': expect.stringMatching(/^default-src 'none';/) as string,
    'x-service-trace': expect.stringMatching(/^[0-9a-f]{16}$/) as string,
  });
  return answer;
}

async function page(sent: Sent): Promise<{ status: number; text: string }> {
  const { status, text, headers } = await send(sent);
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  expect(headers['content-security-policy']).toMatch(POLICY);
  expect(text).toContain('<html lang="fa" dir="rtl">');
  expect(text).not.toMatch(/<script|<img|<link|src=|url\(|@import|https?:/);
  return { status, text };
}

const submit = (path: string, body: string) => page({ method: 'POST', path, body, headers: FORM });
const consentsOnce = (wanted: Record<string, string>) =>
  channelsOnce(
    database,
    { accountId: account.accountId, userId: user },
    ({ consents }) =>
      JSON.stringify(Object.entries(consents).toSorted()) ===
      JSON.stringify(Object.entries(wanted).toSorted()),
  );

interface Chain {
  verified: boolean;
  chains: { user_id: string; entries: Record<string, unknown>[] }[];
}

describe('/e/u/{token} (ingest 4.8, docs/channels.md, Pages of messages)', () => {
  it('GET and HEAD show a page and change nothing', async () => {
    for (let fetched = 0; fetched < 3; fetched++) {
      const { status, text } = await page({ path: message.unsubscribe });
      expect(status).toBe(200);
      expect(text).toContain('<h1>لغو دریافت ایمیل تبلیغاتی</h1>');
      expect(text).toContain('<bdi>فروشگاه &lt;صفحه&gt;</bdi>');
    }
    const head = await send({ method: 'HEAD', path: message.unsubscribe });
    expect([head.status, head.text]).toEqual([200, '']);
    expect((await submit(message.unsubscribe, '')).status).toBe(200);
    await consentsOnce({ email: 'unsubscribed' });
    const printed = await admin<Chain>(
      ...['consent', 'show', '--account', String(account.accountId), '--user-id', user],
    );
    // The POST alone is in the log of consents, with what the person saw.
    expect(printed).toMatchObject({
      verified: true,
      chains: [
        {
          user_id: user,
          entries: [
            {
              ...{ channel: 'email', state: 'unsubscribed', source: 'page' },
              ...{ text_version: 'unsubscribe-fa-1', ip: expect.stringMatching(/./) as string },
            },
          ],
        },
      ],
    });
  });

  it('POST says that it is done, and the page does so afterwards', async () => {
    const done = await submit(message.unsubscribe, 'confirm=1');
    expect([done.status, /<h1>(.*)<\/h1>/.exec(done.text)?.[1]]).toEqual([
      200,
      'دریافت پیام‌ها لغو شد',
    ]);
    await consentsOnce({ email: 'unsubscribed' });
    const { text } = await page({ path: message.unsubscribe });
    expect(/<h1>(.*)<\/h1>/.exec(text)?.[1]).toBe('پیش‌تر لغو کرده‌اید');
    expect(text).not.toContain('<form');
    expect((await submit(message.unsubscribe, 'confirm=1')).status).toBe(200);
  });

  it.each([
    ['urlencoded', FORM, ONE_CLICK],
    [
      'multipart',
      { 'Content-Type': 'multipart/form-data; boundary=b' },
      '--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n',
    ],
  ])('POST is the one click of RFC 8058, %s', async (_, headers, body) => {
    const { status } = await page({ method: 'POST', path: message.unsubscribe, body, headers });
    expect(status).toBe(200);
    await consentsOnce({ email: 'unsubscribed' });
    const { chains } = await admin<Chain>(
      ...['consent', 'show', '--account', String(account.accountId), '--user-id', user],
    );
    expect(chains[0]?.entries).toMatchObject([{ source: 'page', text_version: 'one-click' }]);
  });

  it('POST of a body that is no form unsubscribes, too', async () => {
    expect((await submit(message.unsubscribe, '{"x":[')).status).toBe(200);
    await consentsOnce({ email: 'unsubscribed' });
  });

  it.each<[string, () => string | Buffer, Record<string, string>, number, string]>([
    ['above 64 KiB', () => 'a'.repeat(65_537), FORM, 413, 'request body too large\n'],
    [
      'that unpacks to more than 64 KiB',
      () => gzipSync(Buffer.alloc(65_537)),
      { 'Content-Encoding': 'gzip' },
      ...([413, 'request body too large\n'] as const),
    ],
    [
      'in an unknown encoding',
      () => ONE_CLICK,
      { 'Content-Encoding': 'br' },
      ...([400, 'unreadable body\n'] as const),
    ],
  ])('POST of a body %s is refused as plain text', async (_, body, headers, status, text) => {
    const answer = await send({ method: 'POST', path: message.unsubscribe, body: body(), headers });
    expect([answer.status, answer.text]).toEqual([status, text]);
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
  });
});

describe('/e/p/{token} (ingest 4.8, docs/channels.md, Pages of messages)', () => {
  const choice = (shown: Record<string, string>, on: string[]) =>
    [
      ...Object.entries(shown).map(([channel, state]) => `shown=${channel}:${state}`),
      ...on.map((channel) => `on=${channel}`),
    ].join('&');

  it('GET shows the channel of the message and those of active addresses, and changes nothing', async () => {
    const link = { user_id: user, platform: 'eitaa', chat_id: user };
    const headers = { 'X-Service-Key': account.writeKey };
    expect((await ask({ path: '/v1/messenger/link', body: link, headers })).status).toBe(200);
    await channelsOnce(
      database,
      { accountId: account.accountId, userId: user },
      ({ addresses }) => addresses.length === 1,
    );
    const { status, text } = await page({ path: message.preferences });
    expect(status).toBe(200);
    expect(
      [...text.matchAll(/name="on" value="(\w+)"( checked)?/g)].map(([, ...box]) => box),
    ).toEqual([
      ['email', ' checked'],
      ['eitaa', ' checked'],
    ]);
  });

  it('POST saves what the person changed, for the user and in the log', async () => {
    const saved = await submit(message.preferences, choice({ email: 'subscribed' }, []));
    expect([saved.status, saved.text]).toEqual([200, expect.stringContaining('ذخیره شد')]);
    await consentsOnce({ email: 'unsubscribed' });
    const again = choice({ email: 'unsubscribed' }, ['email']);
    expect((await submit(message.preferences, again)).status).toBe(200);
    await consentsOnce({ email: 'subscribed' });
    const { verified, chains } = await admin<Chain>(
      ...['consent', 'show', '--account', String(account.accountId), '--user-id', user],
    );
    expect(verified).toBe(true);
    expect(chains[0]?.entries).toMatchObject([
      { channel: 'email', state: 'unsubscribed', text_version: 'preferences-fa-1' },
      { channel: 'email', state: 'subscribed', text_version: 'preferences-fa-1' },
    ]);
  });

  it('POST of an old form does not subscribe again', async () => {
    await submit(message.unsubscribe, ONE_CLICK);
    await consentsOnce({ email: 'unsubscribed' });
    const old = choice({ email: 'subscribed' }, ['email']);
    expect((await submit(message.preferences, old)).status).toBe(200);
    const { text } = await page({ path: message.preferences });
    expect(text).toMatch(/name="on" value="email">/);
  });

  it.each(['', 'on=email', '{"email":true}', 'shown=telegram:subscribed'])(
    'POST of what is no form of the page is a page with 400, and changes nothing: %s',
    async (body) => {
      const { status, text } = await submit(message.preferences, body);
      expect([status, text]).toEqual([400, expect.stringContaining('چیزی تغییر نکرد')]);
    },
  );

  it('POST of a body above 64 KiB is 413', async () => {
    const { status, text } = await send({
      ...{ method: 'POST', path: message.preferences, body: 'a'.repeat(65_537), headers: FORM },
    });
    expect([status, text]).toEqual([413, 'request body too large\n']);
  });
});

describe('/e/o/{token} (ingest 4.8, 6.1, docs/channels.md, Pages of messages)', () => {
  const PERSON =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148';
  const PROXY =
    'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)';

  async function opened(agent: string, method = 'GET') {
    const answer = await send({ method, path: message.open, headers: { 'User-Agent': agent } });
    expect([
      answer.status,
      answer.headers['content-type'],
      answer.headers['content-length'],
    ]).toEqual([200, 'image/gif', '43']);
  }
  interface Opened {
    properties: Record<string, string>;
    source: string;
    source_message_id: string;
    user_id: string;
    is_bot: boolean;
  }
  const events = () =>
    rows<Opened>(
      warehouse,
      "SELECT properties, source, source_message_id, user_id, is_bot FROM events WHERE account_id = {account:UInt64} AND event = 'message_opened' AND user_id = {user:String}",
      { account: account.accountId, user },
    );
  const eventOnce = () =>
    eventually({ ms: 60_000, waitingFor: 'the event of the open' }, async () => {
      const found = await events();
      return found.length > 0 ? found : undefined;
    });

  it('is an image of 43 bytes, and one event however often it is opened', async () => {
    await opened(PERSON, 'HEAD');
    for (let time = 0; time < 3; time++) await opened(PERSON);
    expect(await eventOnce()).toEqual([
      {
        properties: { channel: 'email', opened_by: 'person' },
        ...{ source: 'platform', source_message_id: message.message_id, user_id: user },
        is_bot: false,
      },
    ]);
    await opened(PERSON);
    await opened(PROXY);
    const other = await trackedMessage(database, { accountId: account.accountId, userId: user });
    await send({ path: other.open, headers: { 'User-Agent': PERSON } });
    // The event of a later open is stored: one of the earlier opens would be, too.
    await eventually({ ms: 60_000, waitingFor: 'the other event' }, async () =>
      (await events()).some(({ source_message_id: id }) => id === other.message_id)
        ? true
        : undefined,
    );
    expect(await events()).toHaveLength(2);
  });

  it('is flagged when a mail proxy opened it, and known as opened when a person did later', async () => {
    await opened(PROXY);
    expect(await eventOnce()).toMatchObject([
      { properties: { opened_by: 'proxy' }, is_bot: true, source: 'platform' },
    ]);
    await opened(PERSON);
    await eventually({ ms: 30_000, waitingFor: 'the open by the person' }, async () => {
      const { rows: found } = await database.query<{ at: Date | null }>(
        'SELECT opened_by_person_at AS at FROM message_recipients WHERE account_id = $1 AND message_id = $2',
        [account.accountId, message.message_id],
      );
      return found[0]?.at ?? undefined;
    });
    expect(await events()).toHaveLength(1);
  });

  it('is not billed', async () => {
    await opened(PERSON);
    await eventOnce();
    const booked = await eventually({ ms: 60_000, waitingFor: 'the books' }, async () => {
      const { rows: found } = await database.query<Record<string, number>>(
        `SELECT coalesce(sum(places), 0)::int AS places, coalesce(sum(unbilled), 0)::int AS unbilled,
           (SELECT coalesce(sum(value), 0)::int FROM meters WHERE account_id = $1 AND meter = 'events') AS billed
         FROM books WHERE account_id = $1`,
        [account.accountId],
      );
      return (found[0]?.['places'] ?? 0) > 0 ? found[0] : undefined;
    });
    // The account has sent no event: all of them are opens.
    expect([booked['unbilled'], booked['billed']]).toEqual([booked['places'], 0]);
  });
});

describe('tokens (ingest 4.8, docs/channels.md, Pages of messages)', () => {
  const changed = (path: string) => path.slice(0, -1) + (path.endsWith('A') ? 'B' : 'A');

  it('hold neither the user nor the address', () => {
    for (const path of [message.open, message.unsubscribe, message.preferences, message.bounce]) {
      const token = path.slice(path.lastIndexOf('/') + 1);
      expect(Buffer.from(token, 'base64url').toString('latin1')).not.toContain(user);
      expect(token.length).toBeLessThanOrEqual(64);
    }
  });

  it.each<[string, () => string[]]>([
    ['is changed', () => [message.open, message.unsubscribe, message.preferences].map(changed)],
    [
      'is of another purpose',
      () => [
        message.open.replace('/e/o/', '/e/u/'),
        message.unsubscribe.replace('/e/u/', '/e/p/'),
        message.preferences.replace('/e/p/', '/e/o/'),
      ],
    ],
    ['is none', () => ['/e/u/x', '/e/p/%00', '/e/o/..%2F', `/e/u/${'A'.repeat(10_000)}`]],
  ])('that %s is a plain 404', async (_, paths) => {
    for (const path of paths()) {
      const { status, text, headers } = await send({ path });
      expect([path, status, text]).toEqual([path, 404, 'not found\n']);
      expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    }
    const posted = await send({
      method: 'POST',
      path: changed(message.unsubscribe),
      body: ONE_CLICK,
    });
    expect(posted.status).toBe(404);
  });

  it('are served without a key, without CORS and by their methods only', async () => {
    for (const [method, path] of [
      ['OPTIONS', message.unsubscribe],
      ['OPTIONS', message.open],
      ['PUT', message.preferences],
      ['DELETE', message.unsubscribe],
      ['POST', message.open],
    ] as const) {
      const { status, text, headers } = await ask({ method, path });
      expect([method, path, status, text]).toEqual([method, path, 404, 'not found\n']);
      expect(headers).not.toHaveProperty('access-control-allow-origin');
    }
  });
});
