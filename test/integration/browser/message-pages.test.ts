import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CHANNELS } from '../../../events/channels/channel-change.ts';
import { openPixelRoute } from '../../../ingest-gateway/pages/open-pixel.ts';
import { preferencesRoutes } from '../../../ingest-gateway/pages/preferences.ts';
import { unsubscribeRoutes } from '../../../ingest-gateway/pages/unsubscribe.ts';
import {
  FakePorts,
  MESSAGE,
  recipient,
  serveRoutes,
  tokens,
} from '../../../ingest-gateway/tracking/testing/serve-routes.ts';
import { findChromium } from './find-chromium.ts';

/** The pages are looked at: each test leaves a picture here. */
const PICTURES = join(import.meta.dirname, '../../../.ravand/pictures');
/** A small phone, as a mail program opens a link: without JavaScript. */
const PHONE = { viewport: { width: 360, height: 640 }, javaScriptEnabled: false };
const UNSUBSCRIBE = `/e/u/${tokens.write('unsubscribe', MESSAGE)}`;
const PREFERENCES = `/e/p/${tokens.write('preferences', MESSAGE)}`;
const ALL = new Map(CHANNELS.map((channel) => [channel, 'subscribed'] as const));

let browser: Browser;
let ports: FakePorts;
let site: Awaited<ReturnType<typeof serveRoutes>>;
let page: Page;
let requested: string[];
/** What the console of the page says: violations of the policy. */
let complaints: string[];

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  const executablePath = findChromium(process.env);
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
});
afterAll(() => browser.close());
beforeEach(async () => {
  ports = new FakePorts();
  site = await serveRoutes([
    ...[openPixelRoute(() => undefined), ...unsubscribeRoutes(ports)],
    ...preferencesRoutes(ports),
  ]);
  page = await (await browser.newContext(PHONE)).newPage();
  requested = [];
  complaints = [];
  page.on('request', (request) => requested.push(new URL(request.url()).pathname));
  page.on('console', (message) => complaints.push(message.text()));
});
afterEach(async () => {
  await page.context().close();
  site.close();
});

/** Takes a picture of the whole page, light and dark. */
async function picture(name: string): Promise<void> {
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.screenshot({ path: join(PICTURES, `${name}-dark.png`), fullPage: true });
  await page.emulateMedia({ colorScheme: 'light' });
}

/** Everything is within the width, right to left, large enough to touch, and from this host. */
async function expectReadable(): Promise<void> {
  expect(await page.locator('html').getAttribute('dir')).toBe('rtl');
  expect(await page.locator('html').getAttribute('lang')).toBe('fa');
  for (const element of await page.locator('main *').all()) {
    const box = await element.boundingBox();
    if (box) expect([box.x >= 0, box.x + box.width <= 360]).toEqual([true, true]);
  }
  for (const target of await page.locator('button, label, a').all())
    expect((await target.boundingBox())?.height).toBeGreaterThanOrEqual(40);
  expect(complaints).toEqual([]);
  expect(requested.every((path) => path.startsWith('/e/') || path === '/favicon.ico')).toBe(true);
}

const title = () => page.locator('h1').textContent();

describe('on a small phone, without JavaScript', () => {
  it('the unsubscribe page asks, is confirmed, and says later that it was done before', async () => {
    await page.goto(site.origin + UNSUBSCRIBE);
    expect(await title()).toBe('لغو دریافت ایمیل تبلیغاتی');
    await expectReadable();
    await picture('unsubscribe');
    await page.locator('button').click();
    await page.locator('[role=status]').waitFor();
    expect(await title()).toBe('دریافت پیام‌ها لغو شد');
    await expectReadable();
    await picture('unsubscribed');
    expect(ports.recorded.map(({ change }) => change.consent?.state)).toEqual(['unsubscribed']);
    await page.locator('a').click();
    expect(await page.locator('input[value=email]').isChecked()).toBe(false);
    ports.found = recipient({ consents: new Map([['email', 'unsubscribed']]) });
    await page.goto(site.origin + UNSUBSCRIBE);
    expect(await title()).toBe('پیش‌تر لغو کرده‌اید');
    await expectReadable();
    await picture('unsubscribed-before');
    await page.locator('a').click();
    expect(new URL(page.url()).pathname).toMatch(/^\/e\/p\//);
  });

  it('the preference centre shows every channel, and what was saved', async () => {
    const accountName =
      'فروشگاه بزرگ اینترنتی Very-Long-Latin-Name-Of-A-Shop-Without-Spaces.example';
    ports.found = recipient({ consents: ALL, accountName });
    await page.goto(site.origin + PREFERENCES);
    expect(await page.locator('label').count()).toBe(CHANNELS.length);
    await expectReadable();
    await picture('preferences');
    await page.locator('label', { hasText: 'پیامک' }).click();
    await page.locator('button').click();
    await page.locator('[role=status]').waitFor();
    expect(await page.locator('input[value=sms]').isChecked()).toBe(false);
    expect(await page.locator('input[value=email]').isChecked()).toBe(true);
    await expectReadable();
    await picture('preferences-saved');
  });

  it('a page says so when nothing could be recorded, and works when it can again', async () => {
    await page.goto(site.origin + UNSUBSCRIBE);
    ports.durable = 0;
    await page.locator('button').click();
    await page.locator('[role=alert]').waitFor();
    // The browser reports the status itself.
    complaints = complaints.filter((text) => !text.includes('503'));
    await expectReadable();
    await picture('unsubscribe-failed');
    ports.durable = 1;
    await page.locator('button').click();
    await page.locator('[role=status]').waitFor();
    expect(ports.recorded).toHaveLength(1);
    ports.found = 'unreachable';
    await page.goto(site.origin + PREFERENCES);
    complaints = complaints.filter((text) => !text.includes('503'));
    await expectReadable();
    await picture('unavailable');
  });

  it('a link that is not valid shows a plain text', async () => {
    await page.goto(`${site.origin}/e/u/nobody`);
    expect(await page.locator('body').innerText()).toBe('not found\n');
    await picture('invalid');
  });
});
