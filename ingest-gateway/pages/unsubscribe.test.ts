import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  FakePorts,
  MESSAGE,
  recipient,
  serveRoutes,
  tokens,
} from '../tracking/testing/serve-routes.ts';
import { unsubscribeRoutes } from './unsubscribe.ts';

const TOKEN = tokens.write('unsubscribe', MESSAGE);

let ports: FakePorts;
let site: Awaited<ReturnType<typeof serveRoutes>>;

beforeEach(async () => {
  ports = new FakePorts();
  site = await serveRoutes(unsubscribeRoutes(ports));
});
afterEach(() => {
  expect(ports.budget.bytes).toBe(0);
  site.close();
});

interface Page {
  status: number;
  text: string;
  headers: Headers;
}

async function open(init: RequestInit = {}, token = TOKEN): Promise<Page> {
  const answer = await fetch(`${site.origin}/e/u/${token}`, { ...init, redirect: 'manual' });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

const post = (body: NonNullable<RequestInit['body']>, token = TOKEN) =>
  open({ method: 'POST', body }, token);
const ONE_CLICK = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });

describe('the unsubscribe page', () => {
  it('asks, in Persian and right to left, and changes nothing', async () => {
    const { status, text } = await open();
    expect(status).toBe(200);
    expect(text).toContain('<html lang="fa" dir="rtl">');
    expect(text).toContain('<h1>لغو دریافت ایمیل تبلیغاتی</h1>');
    expect(text).toContain('<bdi>فروشگاه نمونه</bdi> دیگر برایتان ایمیل تبلیغاتی نمی‌فرستد');
    expect(text).toContain('<form method="post">');
    for (let fetched = 0; fetched < 3; fetched++) await open();
    await open({ method: 'HEAD' });
    expect(ports.recorded).toEqual([]);
  });

  it('has no script and no resource, and a policy that allows its style only', async () => {
    const { text, headers } = await open();
    expect(text).not.toMatch(/<script|<img|<link|src=|url\(|@import|http/);
    const style = (/<style>([^]*)<\/style>/.exec(text) ?? [])[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
    );
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
      'x-service-trace': expect.stringMatching(/^[0-9a-f]{16}$/) as string,
    });
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('shows the name of the account as text', async () => {
    ports.found = recipient({ accountName: '<script>alert("1")</script> & \'x\'' });
    expect((await open()).text).toContain(
      '<bdi>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;</bdi>',
    );
    ports.found = recipient({ accountName: ' ' });
    expect((await open()).text).toContain('فرستندهٔ این پیام');
  });

  it('asks nothing of a person who has unsubscribed', async () => {
    ports.found = recipient({ consents: new Map([['email', 'unsubscribed']]) });
    const { text } = await open();
    expect(text).toContain('پیش‌تر لغو کرده‌اید');
    expect(text).not.toContain('<form');
  });

  it('links to the preference centre of the same message', async () => {
    const token = /href="\.\.\/p\/([\w-]+)"/.exec((await open()).text)?.[1] ?? '';
    expect(tokens.read('preferences', token)).toEqual(MESSAGE);
    expect((await post(ONE_CLICK)).text).toContain(`href="../p/${token}?unsubscribed=email"`);
  });
});

describe('a POST', () => {
  it('of the page unsubscribes from the channel of the message', async () => {
    const { status, text } = await post(new URLSearchParams({ confirm: '1' }));
    expect(status).toBe(200);
    expect(text).toContain('دریافت پیام‌ها لغو شد');
    expect(ports.recorded).toMatchObject([
      {
        source: 'page',
        change: {
          ...{ kind: 'consent_changed', user_id: 'u-1', channel: 'email' },
          consent: { state: 'unsubscribed', text_version: 'unsubscribe-fa-1', ip: '127.0.0.1' },
        },
      },
    ]);
  });

  it('of a mail program unsubscribes with one click, urlencoded or multipart (RFC 8058)', async () => {
    const multipart = new FormData();
    multipart.set('List-Unsubscribe', 'One-Click');
    for (const body of [ONE_CLICK, multipart]) expect((await post(body)).status).toBe(200);
    const versions = ports.recorded.map(({ change }) => change.consent?.text_version);
    expect(versions).toEqual(['one-click', 'one-click']);
  });

  it.each<[string, RequestInit]>([
    ['no body', {}],
    ['JSON', { body: '{}', headers: { 'Content-Type': 'application/json' } }],
    ['no Content-Type', { body: Buffer.from('List-Unsubscribe=One-Click') }],
    [
      'a broken multipart',
      { body: 'x', headers: { 'Content-Type': 'multipart/form-data; boundary=b' } },
    ],
    [
      'a multipart without a boundary',
      { body: 'x', headers: { 'Content-Type': 'multipart/form-data;' } },
    ],
  ])('with %s unsubscribes too', async (_, init) => {
    expect((await open({ method: 'POST', ...init })).status).toBe(200);
    expect(ports.recorded).toHaveLength(1);
  });

  it('that is not durable is answered 503 and never says that it is done', async () => {
    ports.durable = 0;
    const { status, text, headers } = await post(ONE_CLICK);
    expect([status, headers.get('retry-after')]).toEqual([503, '60']);
    expect(text).toContain('درخواست شما ثبت نشد');
    expect(text).toContain('<form method="post">');
    expect(text).not.toContain('لغو شد<');
  });

  it('of more than 64 KiB is answered 413 and changes nothing', async () => {
    expect((await post('x'.repeat(65_536))).status).toBe(200);
    expect((await post('x'.repeat(65_537))).status).toBe(413);
    expect(ports.recorded).toHaveLength(1);
  });

  it('in an encoding that is none is answered 400', async () => {
    const headers = { 'Content-Encoding': 'gzip' };
    expect((await open({ method: 'POST', body: 'x', headers })).status).toBe(400);
    expect(ports.recorded).toEqual([]);
  });
});

describe('a token', () => {
  it('that is invalid is a plain 404, without a look-up', async () => {
    const preferences = tokens.write('preferences', MESSAGE);
    for (const token of ['x', `${TOKEN}x`, preferences]) {
      for (const page of [await open({}, token), await post(ONE_CLICK, token)])
        expect([page.status, page.text]).toEqual([404, 'not found\n']);
    }
    expect([ports.lookups, ports.recorded.length]).toEqual([0, 0]);
  });

  it('of a message that does not exist any more, or of nobody, is a plain 404', async () => {
    ports.found = undefined;
    expect((await open()).status).toBe(404);
    // A consent without a user id would be that of everybody without one.
    ports.found = recipient({ userId: '' });
    expect((await post(ONE_CLICK)).status).toBe(404);
    expect(ports.recorded).toEqual([]);
  });

  it('that cannot be looked up is a page that asks to try again', async () => {
    ports.found = 'unreachable';
    for (const page of [await open(), await post(ONE_CLICK)]) {
      expect(page.status).toBe(503);
      expect(page.text).toContain('لطفاً چند دقیقهٔ دیگر دوباره تلاش کنید');
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    }
    expect([ports.unreachable, ports.recorded.length]).toEqual([2, 0]);
  });
});

it('requests of one account take a quarter of the places at most', async () => {
  const waiting: (() => void)[] = [];
  ports.found = recipient();
  const { recipientOf } = ports;
  const slow = {
    ...{ tokens, budget: ports.budget, record: ports.record, onUnreachable: ports.onUnreachable },
    recipientOf: async (message: typeof MESSAGE) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return recipientOf(message);
    },
  };
  const small = await serveRoutes(unsubscribeRoutes(slow), { maxRequests: 8 });
  const ask = (token: string) => fetch(`${small.origin}/e/u/${token}`).then(({ status }) => status);
  const first = [ask(TOKEN), ask(TOKEN)];
  await expect.poll(() => waiting.length).toBe(2);
  expect(await ask(TOKEN)).toBe(503);
  const other = ask(tokens.write('unsubscribe', { ...MESSAGE, accountId: 8 }));
  await expect.poll(() => waiting.length).toBe(3);
  for (const go of waiting) go();
  expect(await Promise.all([...first, other])).toEqual([200, 200, 200]);
  small.close();
});
