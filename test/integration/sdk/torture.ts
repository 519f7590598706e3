import type { BrowserContext, Page } from 'playwright-core';
import type { Fault } from './faulty-proxy.ts';

/** Calls of one tab in one task: their numbers go on from `first`. */
export interface Calls {
  tab: number;
  first: number;
  count: number;
}

export interface Tortured {
  context: BrowserContext;
  /** A page on which the SDK runs. */
  open: () => Promise<Page>;
  make: (page: Page, calls: Calls) => Promise<unknown>;
  /** From now on. */
  setFault: (fault: Fault) => void;
}

/** Ends its process at once. */
async function kill(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const crashed = page.waitForEvent('crash');
  void session.send('Page.crash').catch(() => undefined);
  await crashed;
  await page.close();
}

const ENDS: ((page: Page) => Promise<unknown>)[] = [
  (page) => page.close(),
  (page) => page.close({ runBeforeUnload: true }),
  (page) => page.reload().then(() => page.close()),
  (page) => page.goto('about:blank').then(() => page.close()),
  kill,
];
const FAULTS: Fault[] = ['none', 503, 'lost', 'none', 429, 'refuse', 'none'];
/** In rounds of this number the browser is offline when the tab ends. */
const OFFLINE_ROUND = 3;

/**
 * Makes events of one visitor in two tabs at a time, one of which ends in another way each round:
 * closed, reloaded, left, killed; online or offline; while requests with events fail.
 */
export async function torture(tortured: Tortured, events: number): Promise<void> {
  const { context, open, make, setFault } = tortured;
  const second = await open();
  for (let made = 0, round = 1; made < events; round++) {
    setFault(FAULTS[round % FAULTS.length] ?? 'none');
    const page = await open();
    const count = Math.min(events - made, 17 + (round % 29));
    const half = count >> 1;
    await Promise.all([
      make(page, { tab: round, first: made, count: half }),
      make(second, { tab: 0, first: made + half, count: count - half }),
    ]);
    made += count;
    await context.setOffline(round % FAULTS.length === OFFLINE_ROUND);
    // Offline, a reload fails, and the page is gone.
    await ENDS[round % ENDS.length]?.(page).catch(() => page.close());
    await context.setOffline(false);
  }
  setFault('none');
  await second.close();
}
