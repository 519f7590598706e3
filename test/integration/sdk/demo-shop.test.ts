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
  site = await openShopSite(shopPage(own));
  browser = await launch();
});
afterAll(async () => {
  await browser.close();
  site.close();
  await host.close();
});

it('a click in the demo shop is an event, and the page says when the host has it', async () => {
  const page = await browser.newPage();
  await page.goto(site.url);
  await loaded(page);
  for (const name of ['دیدن', 'افزودن به سبد', 'ادامهٔ خرید', 'پرداخت', 'ورود'])
    await page.getByRole('button', { name }).first().click();
  await flush(page);
  const made = [...host.events.values()].map(({ type, event }) => event ?? type);
  expect(made.toSorted()).toEqual(
    [
      ...['page', 'page', 'page', 'product_viewed', 'product_added_to_cart'],
      ...['checkout_started', 'order_completed', 'identify'],
    ].toSorted(),
  );
  const order = [...host.events.values()].find(({ event }) => event === 'order_completed');
  expect(order?.properties).toMatchObject({ revenue: 185_000 });
  expect(await page.locator('#log li', { hasText: '✓' }).count()).toBeGreaterThan(0);
  await page.close();
});
