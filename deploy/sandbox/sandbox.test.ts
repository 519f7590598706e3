import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Channel } from '../../events/channels/channel-change.ts';
import type {
  ProviderAnswer,
  ProviderMessage,
  Target,
} from '../../messaging/providers/provider.ts';
import { openProvider } from '../../messaging/providers/registry.ts';
import { messageTo, providerDeps } from '../../messaging/providers/testing/provider-deps.ts';
import { atEnd, closeAll } from '../../platform/outbound/receivers.ts';
import { startHttpServer } from './http-server.ts';
import { startMailServer } from './mail-server.ts';
import { MAX_MESSAGES, MessageStore, type KeptMessage } from './message-store.ts';
import { sandboxPage } from './page/page.ts';
import type { SandboxMessage } from './receivers/receiver.ts';
import { sandboxRoutes } from './routes.ts';

const LOOPBACK = { host: '127.0.0.1', port: 0 };
let store: MessageStore;
let url: string;
let smtpPort: number;

beforeEach(async () => {
  store = new MessageStore();
  const now = () => Date.now();
  const http = await startHttpServer({ address: LOOPBACK, routes: sandboxRoutes({ store, now }) });
  const mail = await startMailServer({
    address: LOOPBACK,
    onMail: (message) => {
      store.add(message, now());
    },
  });
  atEnd(() => void http.close());
  atEnd(() => void mail.close());
  url = `http://127.0.0.1:${http.address.port}`;
  smtpPort = mail.address.port;
});
afterEach(closeAll);

interface Sending {
  channel: Channel;
  provider: string;
  config: object;
  to: Target;
  content: Partial<ProviderMessage['content']>;
  secret?: string;
}

async function send({ to, content, secret = 'any', ...of }: Sending): Promise<ProviderAnswer> {
  const opened = openProvider({ ...of, accountId: 1, secret, deps: providerDeps() });
  atEnd(() => void opened.close());
  const email = {
    bounceLocal: 'aeaq',
    unsubscribeUrl: 'https://n.example/e/u/x',
    preferencesUrl: '',
  };
  const message = { ...messageTo(to, content), email };
  return await opened.send(message, { signal: new AbortController().signal });
}

const mail = (address: string): Sending => ({
  ...{ channel: 'email', provider: 'smtp', to: { kind: 'email', address } },
  config: {
    ...{ host: '127.0.0.1', port: smtpPort, from: 'روند <news@shop.example>' },
    bounce_domain: 'bounce.example',
  },
  content: { subject: 'سلام نرگس', text: 'متن\nدوم', html: '<p>متن</p>' },
});
const sms = (number: string): Sending => ({
  ...{ channel: 'sms', provider: 'kavenegar', to: { kind: 'phone', number } },
  config: { url: `${url}/kavenegar`, sender: '10004346' },
  content: { text: 'سلام' },
});
const chat = (channel: 'bale' | 'eitaa' | 'rubika', chatId: string): Sending => ({
  ...{ channel, provider: channel, to: { kind: 'chat', chatId } },
  config: { url: `${url}/${channel}` },
  content: { text: 'سلام *نرگس*: https://a.example/x_y' },
});

async function list(query = ''): Promise<KeptMessage[]> {
  const response = await fetch(`${url}/messages${query}`);
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  return ((await response.json()) as { messages: KeptMessage[] }).messages;
}

describe('the sandbox lists what our providers send', () => {
  test('as e-mail, with its headers and its envelope sender', async () => {
    expect(await send(mail('nima@mail.example'))).toMatchObject({ kind: 'accepted' });
    const [message] = await list();
    expect(message).toEqual({
      ...{ channel: 'email', provider: 'smtp', to: 'nima@mail.example', subject: 'سلام نرگس' },
      ...{ title: '', text: 'متن\nدوم', html: '<p>متن</p>' },
      data: { envelope_from: 'aeaq@bounce.example' },
      headers: expect.objectContaining({
        'list-unsubscribe': '<https://n.example/e/u/x>',
        'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
      }) as object,
      received_at: expect.stringMatching(/^20\d\d-\d\d-\d\dT[\d:.]+Z$/) as string,
    });
  });

  test('as SMS, once for each message', async () => {
    const first = await send(sms('+989121234567'));
    expect(first).toMatchObject({ kind: 'accepted' });
    expect(await send(sms('+989121234567'))).toEqual(first);
    expect(await list()).toMatchObject([
      { channel: 'sms', provider: 'kavenegar', to: '+989121234567', text: 'سلام' },
    ]);
  });

  test.each(['bale', 'eitaa', 'rubika'] as const)('over %s, as people read it', async (channel) => {
    expect(await send(chat(channel, '4711'))).toMatchObject({ kind: 'accepted' });
    expect(await list()).toMatchObject([
      { channel, provider: channel, to: '4711', text: 'سلام *نرگس*: https://a.example/x_y' },
    ]);
  });

  test('over push services, whose receivers are under their names', async () => {
    const token = await fetch(`${url}/fcm/token`, { method: 'POST', body: 'grant_type=x' });
    const device = await fetch(`${url}/apns/3/device/ab`, { method: 'POST' });
    const browser = await fetch(`${url}/webpush/subscriptions`, { method: 'POST' });
    expect([token.status, device.status, browser.status]).toEqual([400, 403, 201]);
    const { endpoint } = (await browser.json()) as { endpoint: string };
    expect(endpoint.startsWith(`${url}/webpush/push/`)).toBe(true);
  });
});

test.each<[string, () => Sending]>([
  ['a mailbox', () => mail('dead@mail.example')],
  ['a number', () => sms('+989120000000')],
  ['a chat of Bale', () => chat('bale', 'dead-1')],
])('%s that does not exist is refused, and nothing is listed', async (_, sending) => {
  expect(await send(sending())).toMatchObject({ kind: 'dead_address' });
  expect(await list()).toEqual([]);
});

describe('the list', () => {
  const message = (change: Partial<SandboxMessage> = {}): SandboxMessage => ({
    ...{ channel: 'sms', provider: 'kavenegar', to: '09121234567', subject: '', title: '' },
    ...{ text: 'سلام', html: '', data: {}, headers: {}, ...change },
  });
  const add = (...changes: Partial<SandboxMessage>[]) => {
    for (const change of changes) store.add(message(change), 1_763_800_000_000);
  };

  test('is newest first and cut by limit', async () => {
    add({ text: '1' }, { text: '2' }, { text: '3' });
    expect((await list('?limit=2')).map(({ text }) => text)).toEqual(['3', '2']);
  });

  test.each([
    ['?channel=email', ['mail']],
    ['?to=%2B989121234567', ['sms']],
    ['?to=NIMA@mail.example', ['mail']],
    ['?channel=sms&to=nima@mail.example', []],
    ['?channel=&to=', ['mail', 'sms']],
  ])('of %s is %j', async (query, texts) => {
    add({ text: 'sms' }, { channel: 'email', to: 'Nima@mail.example', text: 'mail' });
    expect((await list(query)).map(({ text }) => text)).toEqual(texts);
  });

  test.each(['?limit=0', '?limit=1001', '?limit=x', '?channel=fax'])(
    'refuses %s',
    async (query) => {
      expect((await fetch(`${url}/messages${query}`)).status).toBe(400);
    },
  );

  test('keeps the last 1,000 messages', async () => {
    add(...Array.from({ length: MAX_MESSAGES + 5 }, (_, at) => ({ text: String(at) })));
    const kept = await list('?limit=1000');
    expect([kept.length, kept[0]?.text, kept.at(-1)?.text]).toEqual([1000, '1004', '5']);
  });

  test('keeps no more than 64 MiB', () => {
    add(...Array.from({ length: 100 }, () => ({ html: 'x'.repeat(2 ** 20) })));
    expect(store.size).toBe(63);
  });

  test('answers for no other name of this machine, which a page elsewhere could use', async () => {
    const status = await new Promise((resolve) => {
      const headers = { host: 'rebound.example' };
      request(`${url}/messages`, { headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).end();
    });
    expect(status).toBe(421);
  });

  test('takes no body above 1 MiB', async () => {
    const body = 'x'.repeat(2 ** 20 + 1);
    expect((await fetch(`${url}/bale/botX/sendMessage`, { method: 'POST', body })).status).toBe(
      413,
    );
  });
});

describe('the page', () => {
  const hostile = '"><script>alert(1)</script><img src=https://a.example/x>';

  test('is Persian, right to left, and lets nothing run or load', async () => {
    await send(mail('nima@mail.example'));
    const response = await fetch(url);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; frame-src 'self'/);
    const page = await response.text();
    expect(page).toContain('<html lang="fa" dir="rtl">');
    expect(page).toContain('سلام نرگس');
    expect(page).not.toMatch(/<script|<link|<img|(src|href|action)="(?!\/)/i);
  });

  test('escapes everything that a message or a query holds', () => {
    const message: KeptMessage = {
      ...{ id: 1, channel: 'email', provider: hostile, to: hostile, subject: hostile },
      ...{ title: '', text: hostile, html: hostile, data: { a: hostile }, headers: { b: hostile } },
      received_at: '2026-11-22T09:00:00.000Z',
    };
    const page = sandboxPage({ messages: [message], kept: 1, channel: hostile, to: hostile });
    expect(page).not.toMatch(/<script|<img/);
    expect(page).toContain('۱ آذر ۱۴۰۵');
  });

  test('shows the HTML of a mail in a frame that runs and loads nothing', async () => {
    await send({ ...mail('a@b.example'), content: { subject: 'x', html: hostile } });
    const response = await fetch(`${url}/messages/1/html`);
    expect(response.headers.get('content-security-policy')).toBe(
      "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
    );
    expect((await fetch(`${url}/messages/2/html`)).status).toBe(404);
  });

  test('says so when there is nothing', async () => {
    expect(await (await fetch(url)).text()).toContain('هنوز پیامی نرسیده است');
    expect(await (await fetch(`${url}/?channel=sms`)).text()).toContain('هنوز پیامی نرسیده است');
  });

  test.each([
    ['/nothing', 'GET', 404],
    ['/', 'POST', 405],
    ['/messages', 'DELETE', 405],
    ['/constructor/x', 'GET', 404],
  ])('of %s with %s is %i', async (path, method, status) => {
    expect((await fetch(url + path, { method })).status).toBe(status);
  });
});
