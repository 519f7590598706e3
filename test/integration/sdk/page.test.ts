import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startRecordingHost, type Event, type RecordingHost } from './recording-host.ts';
import * as shops from './shop.ts';
import type { ShopWindow } from './shop.ts';

let host: RecordingHost;
let shop: shops.Shop;
let browser: Browser;
let context: BrowserContext;

beforeAll(async () => {
  browser = await shops.launch();
});
afterAll(() => browser.close());
beforeEach(async () => {
  host = await startRecordingHost(shops.builtSdk());
  shop = await shops.openShop(host.url);
  context = await browser.newContext();
});
afterEach(async () => {
  await context.close();
  await Promise.all([shop.close(), host.close()]);
});

const open = (path: string) => shops.openPage(context, `${shop.origin}${path}`);
const named = (name: string | undefined) =>
  [...host.events.values()].filter(({ type, event }) =>
    name === undefined ? type === 'page' : event === name,
  );
const pathOf = ({ context: { page } }: Event) =>
  [page.url, page.referrer].map((url) => url.replace(shop.origin, ''));

/** Page views so far: the address and the one before it. */
async function views(page: Page): Promise<string[][]> {
  await shops.flush(page);
  return named(undefined).map(pathOf);
}

describe('page views', () => {
  it('are one for each address that a single-page application shows', async () => {
    const page = await open('/');
    await page.evaluate(() => {
      const { history, document } = globalThis as ShopWindow;
      history.pushState({}, '', '/a');
      document.title = 'عنوان الف';
      history.replaceState({ scroll: 1 }, '', '/a');
      history.replaceState({}, '', '/a#part');
    });
    await page.evaluate(() => (globalThis as ShopWindow).history.pushState({}, '', '/b?x=1'));
    await page.goBack();
    await page.evaluate(() => {
      (globalThis as ShopWindow).location.hash = '#part-2';
    });
    await page.evaluate(() => {
      (globalThis as ShopWindow).location.hash = '#/route';
    });
    await expect
      .poll(() => views(page))
      .toEqual([
        ['/', ''],
        ['/a#part', '/'],
        ['/b?x=1', '/a#part'],
        ['/a#part', '/b?x=1'],
        ['/a#/route', '/a#part'],
      ]);
    expect(named(undefined)[1]?.context.page.title).toBe('عنوان الف');
  });

  it('come again when the browser brings a page back, once', async () => {
    const keeping = await shops.launch([], ['--disable-back-forward-cache']);
    const page = await shops.openPage(await keeping.newContext(), `${shop.origin}/`);
    await page.evaluate(() => {
      (globalThis as ShopWindow & { isFirst?: boolean }).isFirst = true;
    });
    await page.click('#next');
    await shops.loaded(page);
    // A page that was kept is not loaded again.
    await page.goBack({ waitUntil: 'commit' });
    await shops.loaded(page);
    const isKept = await page.evaluate(
      () => (globalThis as ShopWindow & { isFirst?: boolean }).isFirst,
    );
    expect(isKept).toBe(true);
    expect(await views(page)).toEqual([
      ['/', ''],
      ['/next', '/'],
      ['/', ''],
    ]);
    await keeping.close();
  });

  it('are the own business of a page that says so', async () => {
    shop.options = { autoPage: false };
    const page = await open('/');
    await page.evaluate(() => (globalThis as ShopWindow).ravand.page('خانه'));
    await shops.flush(page);
    expect(named('خانه')).toHaveLength(1);
    expect(host.events.size).toBe(1);
  });

  it('are made once where the script is included twice', async () => {
    const page = await open('/');
    await page.addScriptTag({ url: `${host.url}/sdk/v1.js` });
    await page.evaluate(
      ([key, url]) => (globalThis as ShopWindow).ravand.load(key, { host: url }),
      [shops.KEY, host.url] as const,
    );
    expect(await views(page)).toHaveLength(1);
  });
});

describe('the link of a message', () => {
  it('is clicked once, until another message is followed', async () => {
    for (const path of ['/?sg_mid=c1', '/', '/?sg_mid=c1', '/?sg_mid=c2', '/?sg_mid=c1']) {
      const page = await open(path);
      await shops.flush(page);
      await page.close();
    }
    const clicks = named('message_clicked').map(({ context: { campaign } }) => campaign);
    expect(clicks).toEqual([{ message_id: 'c1' }, { message_id: 'c2' }, { message_id: 'c1' }]);
  });

  it('is not clicked again after reset', async () => {
    const page = await open('/?sg_mid=c1');
    await page.evaluate(() => (globalThis as ShopWindow).ravand.reset());
    await page.reload();
    await shops.loaded(page);
    await shops.flush(page);
    expect(named('message_clicked')).toHaveLength(1);
  });
});

describe('a session', () => {
  const HALF_HOUR = 30 * 60_000;
  /** The sessions of calls at these times, ms. */
  const sessionsAt = async (times: number[], path = '/') => {
    shop.options = { autoPage: false, flushInterval: 100_000_000 };
    await context.clock.install({ time: new Date('2026-11-23T08:00:00Z') });
    const page = await open(path);
    let now = 0;
    for (const at of times) {
      await context.clock.fastForward(at - now);
      now = at;
      await shops.track(page, 'e');
    }
    await shops.flush(page);
    const ids = named('e').map(({ context: { session_id } }) => session_id);
    return ids.map((id) => ids.indexOf(id));
  };

  it('ends after half an hour without a call', async () => {
    expect(await sessionsAt([0, HALF_HOUR - 1000, 2 * HALF_HOUR - 2000, 3 * HALF_HOUR])).toEqual([
      0, 0, 0, 3,
    ]);
  });

  it('ends after a day', async () => {
    const times = Array.from({ length: 75 }, (_, at) => (at * HALF_HOUR * 2) / 3);
    const sessions = await sessionsAt(times);
    expect(sessions.indexOf(72)).toBe(72);
    expect(new Set(sessions)).toEqual(new Set([0, 72]));
  });

  it('has the campaign that it came by, on all its pages and in other tabs', async () => {
    const first = await open('/?utm_source=sms&utm_campaign=یلدا&utm_id=7');
    await shops.track(first, 'e');
    const second = await open('/other');
    await shops.track(second, 'e');
    await shops.flush(second);
    const campaigns = named('e').map(({ context: { campaign } }) => campaign);
    expect(campaigns).toEqual(Array(2).fill({ source: 'sms', name: 'یلدا' }));
    expect(new Set(named('e').map(({ context: { session_id } }) => session_id)).size).toBe(1);
  });
});

describe('consent', () => {
  it('pending: calls wait across pages, and are sent once it is granted', async () => {
    shop.options = { consent: 'pending', autoPage: false, flushInterval: 10 };
    const page = await open('/');
    await shops.track(page, 'early');
    await page.reload();
    await shops.loaded(page);
    await shops.track(page, 'later');
    expect(await shops.flush(page)).toEqual({ sent: 0, pending: 2 });
    await page.goto('about:blank');
    await page.goBack();
    expect(host.items).toBe(0);
    await page.evaluate(() => (globalThis as ShopWindow).ravand.consent('granted'));
    await expect.poll(() => host.events.size).toBe(2);
    const next = await open('/');
    await shops.track(next, 'granted');
    await expect.poll(() => named('granted')).toHaveLength(1);
  });

  it('denied: nothing is sent or stored, and what was is removed', async () => {
    shop.options = { consent: 'pending', flushInterval: 10 };
    const page = await open('/?sg_mid=c1');
    await shops.track(page, 'early');
    const stored = await page.evaluate(() => {
      const { ravand, localStorage } = globalThis as ShopWindow;
      ravand.consent('denied');
      ravand.identify('sara');
      ravand.track('e');
      ravand.anonymousId();
      return Object.entries(localStorage);
    });
    expect(stored).toEqual([[`ravand.${shops.KEY.slice(-12)}.c`, 'denied']]);
    await page.reload();
    await shops.loaded(page);
    expect(await shops.flush(page)).toEqual({ sent: 0, pending: 0 });
    await page.close();
    expect([host.items, host.posted]).toEqual([0, []]);
    // The choice may be taken back.
    const again = await open('/');
    await again.evaluate(() => (globalThis as ShopWindow).ravand.consent('granted'));
    await shops.track(again, 'e');
    await expect.poll(() => named('e')).toHaveLength(1);
  });
});

describe('storage in Chromium', () => {
  it('that is refused: calls are sent from memory', async () => {
    shop.options = { flushInterval: 10, autoPage: false };
    // A frame of its own origin has no storage and no locks.
    const page = await context.newPage();
    await page.goto(`${shop.origin}/plain`);
    const sandbox = `<iframe sandbox="allow-scripts" src="${shop.origin}/framed"></iframe>`;
    await page.setContent(sandbox);
    const frame = page.frames().find((one) => one.url().endsWith('/framed'));
    await frame?.evaluate(() => (globalThis as ShopWindow).ravand.track('framed'));
    await expect.poll(() => named('framed').length).toBe(1);
    expect([...host.balances.values()][0]).toMatchObject({ made: 1, stored: 0 });
  });

  it('that is full: nothing is lost, and what was stored is sent, too', async () => {
    shop.options = { flushInterval: 100_000, autoPage: false };
    const page = await open('/');
    await shops.track(page, 'stored');
    await page.evaluate(() => {
      const { localStorage } = globalThis as ShopWindow;
      for (let size = 1 << 20; size >= 1; size >>= 1)
        try {
          for (let at = 0; ; at++) localStorage.setItem(`${size} ${at}`, 'x'.repeat(size));
        } catch {
          // As full as it gets.
        }
    });
    await shops.track(page, 'in memory', { text: 'x'.repeat(100) });
    expect(await shops.flush(page)).toEqual({ sent: 2, pending: 0 });
    expect([named('stored').length, named('in memory').length]).toEqual([1, 1]);
  });
});

it('the inbox may be asked for before the script has arrived', async () => {
  let arrive = () => {};
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  await context.route('**/sdk/v1.js', async (route) => {
    await arrived;
    await route.continue();
  });
  host.answers['/v1/inbox'] = { status: 200, body: { messages: [], unread: 3 } };
  const page = await context.newPage();
  await page.goto(`${shop.origin}/`, { waitUntil: 'commit' });
  await page.waitForFunction(() => 'ravand' in globalThis);
  const listed = page.evaluate(async () => {
    const { ravand } = globalThis as ShopWindow;
    ravand.identify('sara');
    return (await ravand.inbox(() => ({ user_hash: 'h' }))).list({});
  });
  await page.evaluate(() => (globalThis as ShopWindow).ravand.track('meanwhile'));
  arrive();
  expect(await listed).toEqual({ messages: [], unread: 3 });
});

it('a week offline loses nothing, and nothing is sent meanwhile', async () => {
  shop.options = { autoPage: false };
  await context.clock.install({ time: new Date('2026-11-16T08:00:00Z') });
  const page = await open('/');
  await context.setOffline(true);
  for (let day = 0; day < 7; day++) {
    await shops.track(page, `day ${day}`);
    await context.clock.fastForward('24:00:00');
  }
  expect(host.items).toBe(0);
  // Sent at once. To go forward in time now would abort the request, which has 30 s.
  await context.setOffline(false);
  await expect.poll(() => host.events.size).toBe(7);
  expect([...host.events.values()].map(({ event }) => event)).toEqual(
    Array.from({ length: 7 }, (_, day) => `day ${day}`),
  );
  const times = [...host.events.values()].map(({ timestamp }) => timestamp.slice(0, 10));
  expect(times).toEqual([16, 17, 18, 19, 20, 21, 22].map((day) => `2026-11-${day}`));
});

it('tabs that take turns send each event once, and their books have it once', async () => {
  shop.options = { autoPage: false, flushAt: 5, flushInterval: 10 };
  const [calls, every] = [300, 5];
  const last = await open('/last');
  const tabs = [await open('/'), await open('/other'), last];
  const make = (page: Page) =>
    page.evaluate(
      async ([count, ms]) => {
        for (let number = 0; number < count; number++) {
          (globalThis as ShopWindow).ravand.track('e', { number });
          await new Promise((resolve) => setTimeout(resolve, Math.random() * ms));
        }
      },
      [calls, every] as const,
    );
  await Promise.all(tabs.map(make));
  await Promise.all(tabs.map(shops.flush));
  const made = tabs.length * calls;
  expect(host.events.size).toBe(made);
  expect(host.items).toBe(made);
  await shops.track(last, 'last');
  await shops.flush(last);
  const [balance] = host.balances.values();
  expect(balance).toEqual({ made: made + 1, stored: made + 1, sent: made, dropped: {} });
}, 60_000);

it('the books of a browser have all its calls, and what the host has answered so far', async () => {
  shop.options = { autoPage: false };
  const page = await open('/');
  for (let number = 0; number < 10; number++) await shops.track(page, 'e');
  await shops.flush(page);
  await shops.track(page, 'last');
  await shops.flush(page);
  const [balance] = host.balances.values();
  expect(balance).toEqual({ made: 11, stored: 11, sent: 10, dropped: {} });
  expect(host.preflights).toBe(0);
});
