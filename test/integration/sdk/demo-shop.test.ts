import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { shopPage } from '../../../cli/demo/shop-page.ts';
import { openShopSite } from '../../../cli/demo/shop-site.ts';
import { startRecordingHost, type RecordingHost } from './recording-host.ts';
import { builtSdk, flush, KEY, launch, loaded } from './shop.ts';

let host: RecordingHost;
let browser: Browser;
let site: Awaited<ReturnType<typeof openShopSite>>;

beforeAll(async () => {
  host = await startRecordingHost(builtSdk());
  const snippet = readFileSync(
    join(import.meta.dirname, '../../../sdk/browser/snippet.html'),
    'utf8',
  );
  const own = snippet.replaceAll('INGEST_HOST', host.url).replaceAll('WRITE_KEY', KEY);
  site = await openShopSite((language) =>
    shopPage({ language, snippet: own, liveUrl: 'http://localhost/live' }),
  );
  browser = await launch();
});
afterAll(async () => {
  await browser.close();
  site.close();
  await host.close();
});

it.each([
  ['', 'rtl', ['دیدن', 'افزودن به سبد', 'تکمیل خرید', 'پرداخت', 'ورود'], 'سارا'],
  ['en/', 'ltr', ['View', 'Add to cart', 'Check out', 'Pay', 'Sign in'], 'Sara'],
])(
  'a click in the demo shop /%s is an event, and the page says when the host has it',
  async (path, direction, names, customer) => {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    const page = await context.newPage();
    host.events.clear();
    await page.goto(site.url + path);
    await loaded(page);
    expect(await page.locator('html').getAttribute('dir')).toBe(direction);
    // Nobody pays for an empty cart.
    expect(await page.getByRole('button', { name: names[3] ?? '', exact: true }).isDisabled()).toBe(
      true,
    );
    for (const name of names) await page.getByRole('button', { name, exact: true }).first().click();
    expect(await page.locator('#status').textContent()).toContain(customer);
    // The host may answer a flush before this one.
    await expect.poll(async () => (await flush(page)).pending).toBe(0);
    const made = [...host.events.values()].map(({ type, event }) => event ?? type);
    expect(made.toSorted()).toEqual(
      [
        ...['page', 'page', 'page', 'product_viewed', 'product_added_to_cart'],
        ...['checkout_started', 'order_completed', 'alias', 'identify'],
      ].toSorted(),
    );
    const order = [...host.events.values()].find(({ event }) => event === 'order_completed');
    expect(order?.properties).toMatchObject({ revenue: 185_000 });
    await page.locator('#log li', { hasText: '✓' }).first().waitFor();
    await context.close();
  },
);
