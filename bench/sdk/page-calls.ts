import type { Page } from 'playwright-core';
import { launch, openPage, openShop, type ShopWindow } from '../../test/integration/sdk/shop.ts';

export interface PageCalls {
  /** Events that wait while calls are measured. */
  waiting: number;
  /** Of a call, µs. */
  call: number;
  /** Of writing an entry of the same size to localStorage, µs. */
  bare: number;
}

const CALLS = 100;

/** The time of a call in Chromium. @param ingestUrl where the SDK comes from */
export async function measurePage(ingestUrl: string, waiting: number[]): Promise<PageCalls[]> {
  const shop = await openShop(ingestUrl);
  // Nothing is sent: what waits is what was made.
  shop.options = { autoPage: false, consent: 'pending' };
  const browser = await launch();
  const measured: PageCalls[] = [];
  for (const count of waiting) {
    const page = await openPage(await browser.newContext(), `${shop.origin}/`);
    await make(page, count);
    await make(page, CALLS);
    const call = await make(page, CALLS);
    measured.push({ waiting: count + 2 * CALLS, call, bare: await write(page) });
    await page.context().close();
  }
  await browser.close();
  await shop.close();
  return measured;
}

/** µs a call */
const make = (page: Page, count: number): Promise<number> =>
  page.evaluate((calls) => {
    const { ravand } = globalThis as ShopWindow;
    const properties = { product_id: 'p-17', product_name: 'چای لاهیجان', price: 185_000 };
    const from = performance.now();
    for (let at = 0; at < calls; at++) ravand.track('product_viewed', properties);
    return ((performance.now() - from) * 1000) / calls;
  }, count);

const write = (page: Page): Promise<number> =>
  page.evaluate((calls) => {
    const { localStorage } = globalThis as ShopWindow;
    const from = performance.now();
    for (let at = 0; at < calls; at++) localStorage.setItem(`bare-${at}`, 'x'.repeat(700));
    return ((performance.now() - from) * 1000) / calls;
  }, CALLS);

/** Bytes of a batch of 100 events, and of each, on the wire. */
export async function sendFromPage(ingestUrl: string, host: string): Promise<void> {
  const shop = await openShop(ingestUrl);
  shop.options = { autoPage: false, host, flushAt: 1000 };
  const browser = await launch();
  const page = await openPage(await browser.newContext(), `${shop.origin}/`);
  await make(page, CALLS);
  await page.evaluate(() => (globalThis as ShopWindow).ravand.flush());
  await browser.close();
  await shop.close();
}
