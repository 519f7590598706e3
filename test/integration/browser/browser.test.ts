import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createAccount,
  eventually,
  serviceStatus,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';
import { findChromium } from './find-chromium.ts';
import { hostPages } from './page-host.ts';

/**
 * What a page of a visitor sees; headless Chromium says in its own User-Agent that it is no person.
 */
const AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';

let browser: Browser;
let pages: Awaited<ReturnType<typeof hostPages>>;
const client = openClickhouse();
let account: TestAccount;

beforeAll(async () => {
  const executablePath = findChromium(process.env);
  // Chromium refuses its sandbox to root, and containers often have none.
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  pages = await hostPages();
  account = await createAccount('browser');
});
afterAll(async () => {
  await browser.close();
  await pages.close();
});

async function openPage(userAgent?: string): Promise<Page> {
  const context = await browser.newContext(userAgent === undefined ? {} : { userAgent });
  const page = await context.newPage();
  await page.goto(`${pages.origin}/product`);
  return page;
}

interface Sending {
  url: string;
  init: { method: 'POST'; body: string; headers?: Record<string, string>; credentials?: 'include' };
}

/** What the global object of a page has, and this process's has not. */
interface PageGlobals {
  navigator: { sendBeacon(url: string, data: string | Blob): boolean };
  addEventListener(type: 'pagehide', listener: () => void): void;
}

/** fetch in the page: what its script reads, or the name of the error that it gets. */
function fetchIn(
  page: Page,
  sending: Sending,
): Promise<{ status: number; body: unknown } | { error: string }> {
  return page.evaluate(async ({ url, init }) => {
    try {
      const response = await fetch(url, init);
      return { status: response.status, body: await response.json() };
    } catch (error) {
      return { error: (error as Error).name };
    }
  }, sending);
}

const track = () => `${readyStack().ingest_url}/v1/track`;
const withKey = () => `${track()}?write_key=${account.writeKey}`;
const event = (name: string, more: object = {}) =>
  JSON.stringify({ event: name, anonymous_id: 'visitor', message_id: `browser-${name}`, ...more });

type Row = Record<string, unknown>;

/** The rows of an event, once there is one. */
async function stored(name: string): Promise<Row[]> {
  return eventually({ ms: 60_000, waitingFor: `a row of ${name}` }, async () => {
    const found = await rows<Row>(
      client,
      'SELECT * FROM events WHERE account_id = {id:UInt64} AND event = {name:String}',
      {
        ...{ id: account.accountId, name },
      },
    );
    return found.length > 0 ? found : undefined;
  });
}

async function preflights(): Promise<number> {
  const { admin_url } = await serviceStatus('ingest-gateway');
  const text = await (await fetch(`${admin_url}/metrics`)).text();
  const lines = text
    .split('\n')
    .filter((line) => /^ravand_gateway_requests_total\{.*preflight/.test(line));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

describe('a page of another origin (ingest 1, 4.1)', () => {
  it.each([
    ['X-Service-Key', () => ({ 'X-Service-Key': account.writeKey })],
    ['Authorization', () => ({ Authorization: `Bearer ${account.writeKey}` })],
  ])('fetches with %s, after a preflight, and reads the answer', async (name, headers) => {
    const page = await openPage(AGENT);
    const before = await preflights();
    const init = {
      method: 'POST' as const,
      headers: { 'Content-Type': 'application/json', ...headers() },
      body: event(name),
    };
    expect(await fetchIn(page, { url: track(), init })).toEqual({
      status: 200,
      body: { status: 'ok', accepted: 1 },
    });
    expect(await preflights()).toBe(before + 1);
    // A day long the browser asks no more (Access-Control-Max-Age).
    expect(await fetchIn(page, { url: track(), init })).toEqual({
      status: 200,
      body: { status: 'ok', accepted: 1 },
    });
    expect(await preflights()).toBe(before + 1);
    expect(await stored(name)).toMatchObject([
      {
        event: name,
        browser_name: 'Chrome',
        browser_version: '140.0.0.0',
        os_name: 'windows',
        is_bot: false,
        user_agent: AGENT,
      },
    ]);
    await page.context().close();
  });

  it('can read refusals', async () => {
    const page = await openPage();
    const url = `${track()}?write_key=nobody`;
    expect(await fetchIn(page, { url, init: { method: 'POST', body: event('refused') } })).toEqual({
      status: 401,
      body: { status: 'error', message: 'invalid write key' },
    });
    expect(await fetchIn(page, { url: withKey(), init: { method: 'POST', body: '{' } })).toEqual({
      status: 400,
      body: { status: 'error', message: 'malformed JSON' },
    });
    await page.context().close();
  });

  it('can send beacons with the key in the query, as text and as a Blob of text', async () => {
    const page = await openPage();
    const before = await preflights();
    const accepted = await page.evaluate(
      ([url, text, blob]) => {
        const { navigator } = globalThis as unknown as PageGlobals;
        return [
          navigator.sendBeacon(url, text),
          navigator.sendBeacon(url, new Blob([blob], { type: 'text/plain' })),
        ];
      },
      [withKey(), event('beacon text'), event('beacon blob')] as const,
    );
    expect(accepted).toEqual([true, true]);
    for (const name of ['beacon text', 'beacon blob'])
      expect(await stored(name)).toMatchObject([
        { event: name, anonymous_id: 'visitor', is_bot: true, browser_name: 'Chrome' },
      ]);
    expect(await preflights()).toBe(before);
    await page.context().close();
  });

  it('can send events with keepalive when it is closed', async () => {
    const page = await openPage();
    await page.evaluate(
      ([url, body]) =>
        (globalThis as unknown as PageGlobals).addEventListener('pagehide', () => {
          void fetch(url, { method: 'POST', body, keepalive: true });
        }),
      [withKey(), event('left')] as const,
    );
    await page.goto('about:blank');
    expect(await stored('left')).toHaveLength(1);
    await page.context().close();
  });
});

describe('a request that a browser refuses to send (ingest 4.1)', () => {
  it.each<[string, (page: Page) => Promise<unknown>]>([
    [
      'a fetch with credentials',
      (page) =>
        fetchIn(page, {
          url: track(),
          init: {
            method: 'POST',
            credentials: 'include',
            headers: { 'X-Service-Key': account.writeKey },
            body: event('refused 1'),
          },
        }),
    ],
    [
      'gzip from CompressionStream: Content-Encoding is no allowed header',
      (page) =>
        page.evaluate(
          async ([url, text]) => {
            const packed = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
            const body = await new Response(packed).arrayBuffer();
            return fetch(url, {
              method: 'POST',
              headers: { 'Content-Encoding': 'gzip' },
              body,
            }).then(
              () => 'sent',
              (error: unknown) => ({ error: (error as Error).name }),
            );
          },
          [withKey(), event('refused 2')] as const,
        ),
    ],
  ])('is %s', async (_, send) => {
    const page = await openPage();
    expect(await send(page)).toEqual({ error: 'TypeError' });
    await page.context().close();
  });

  it('is a beacon with a Blob of application/json: beacons carry credentials, and its preflight fails', async () => {
    const page = await openPage();
    await page.evaluate(
      ([url, text]) =>
        (globalThis as unknown as PageGlobals).navigator.sendBeacon(
          url,
          new Blob([text], { type: 'application/json' }),
        ),
      [withKey(), event('refused 3')] as const,
    );
    // An event that is sent after it and stored: what was refused would have come by then.
    await fetchIn(page, { url: withKey(), init: { method: 'POST', body: event('afterwards') } });
    await stored('afterwards');
    await page.context().close();
  });

  it('is not stored, and everything else is stored exactly once', async () => {
    const found = await rows<{ event: string; n: number }>(
      ...[
        client,
        'SELECT event, count() AS n FROM events WHERE account_id = {id:UInt64} GROUP BY event ORDER BY event',
        { id: account.accountId },
      ],
    );
    expect(found).toEqual(
      ['Authorization', 'X-Service-Key', 'afterwards', 'beacon blob', 'beacon text', 'left'].map(
        (name) => ({ event: name, n: 1 }),
      ),
    );
  });
});

it('a preflight is answered without a key and allows no credentials', async () => {
  const response = await fetch(track(), {
    method: 'OPTIONS',
    headers: { Origin: pages.origin, 'Access-Control-Request-Method': 'POST' },
  });
  expect([response.status, response.headers.get('access-control-allow-credentials')]).toEqual([
    204,
    null,
  ]);
});
