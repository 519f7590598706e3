import { setTimeout as sleep } from 'node:timers/promises';
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
  /** Whether a request has met it. Without this, a round does not wait for its fault. */
  hasMet?: (fault: Fault) => boolean;
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
/** In rounds of this number, which have no fault, the browser is offline when the tab ends. */
const OFFLINE_ROUND = 3;
/** Longer than the delay after the few failures in a row that a round may find. */
const MEETING_MS = 30_000;
/** Between events that are made so that there is a request. */
const MEETING_EVENT_MS = 250;

/**
 * Makes events of one visitor in two tabs at a time, one of which ends in another way each round:
 * closed, reloaded, left, killed; online or offline; while requests with events fail. The first
 * round of a fault goes on until a request has met it.
 */
export async function torture(tortured: Tortured, events: number): Promise<void> {
  const { context, open, make, setFault, hasMet } = tortured;
  const second = await open();
  for (let made = 0, round = 1; made < events; round++) {
    const fault = FAULTS[round % FAULTS.length] ?? 'none';
    setFault(fault);
    const page = await open();
    const count = Math.min(events - made, 17 + (round % 29));
    const half = count >> 1;
    await Promise.all([
      make(page, { tab: round, first: made, count: half }),
      make(second, { tab: 0, first: made + half, count: count - half }),
    ]);
    made += count;
    if (hasMet && fault !== 'none') {
      const end = Date.now() + MEETING_MS;
      while (!hasMet(fault)) {
        if (Date.now() > end)
          throw new Error(`no request met the fault ${fault} in round ${round}`);
        if (made < events) await make(second, { tab: 0, first: made++, count: 1 });
        await sleep(MEETING_EVENT_MS);
      }
    }
    await context.setOffline(round % FAULTS.length === OFFLINE_ROUND);
    // Offline, a reload fails, and the page is gone.
    await ENDS[round % ENDS.length]?.(page).catch(() => page.close());
    await context.setOffline(false);
  }
  setFault('none');
  await second.close();
}
