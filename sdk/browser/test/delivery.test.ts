import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeBrowser } from './testing/fake-browser.ts';

const HOUR = 3_600_000;
const QUIET = { autoPage: false, flushInterval: 1000, flushAt: 1000 };
let browser: FakeBrowser;

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-11-23T12:00:00Z') });
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  browser = new FakeBrowser();
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const sentIds = () => browser.received.map(({ batch }) => batch.map((one) => one.message_id));
const waitingKeys = () => [...browser.storage.values.keys()].filter((key) => /\.e/.test(key));

describe('a call', () => {
  it('is stored before it returns, and removed when the host has it', async () => {
    const { ravand } = await browser.open(QUIET);
    const id = ravand.track('خرید', { total: 5 });
    expect(waitingKeys()).toHaveLength(1);
    expect(await ravand.flush()).toEqual({ sent: 1, pending: 0 });
    expect(waitingKeys()).toHaveLength(0);
    expect(browser.urls).toEqual(['https://in.example/v1/batch?write_key=wk_svc_0123456789ab']);
    expect(browser.received[0]?.batch).toMatchObject([
      {
        ...{ type: 'track', event: 'خرید', message_id: id, properties: { total: 5 } },
        ...{ timestamp: '2026-11-23T12:00:00.000Z', anonymous_id: ravand.anonymousId() },
        context: {
          library: { name: 'ravand-browser', version: '1.0.0' },
          locale: 'fa-IR',
          session_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
          page: {
            ...{ url: 'https://shop.example/', path: '/', title: 'فروشگاه' },
            referrer: 'https://search.example/',
          },
        },
      },
    ]);
  });

  it('before load waits, and keeps its id and its time', async () => {
    const { ravand } = await browser.open({ host: 'later' });
    const id = ravand.track('early', { a: 1 }, { context: { locale: 'en' } });
    ravand.identify('sara');
    vi.advanceTimersByTime(5000);
    ravand.load('wk_svc_0123456789ab', { ...QUIET, host: 'https://in.example/' });
    await ravand.flush();
    expect(browser.urls[0]).toMatch(/^https:\/\/in\.example\/v1\/batch\?/);
    expect(browser.received[0]?.batch).toMatchObject([
      { message_id: id, timestamp: '2026-11-23T12:00:00.000Z', context: { locale: 'en' } },
      { type: 'identify', user_id: 'sara', timestamp: '2026-11-23T12:00:00.001Z' },
    ]);
  });

  it('has ids of version 7, in their order, and strictly increasing times', async () => {
    const { ravand } = await browser.open(QUIET);
    const ids = Array.from({ length: 50 }, () => ravand.track('e'));
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(ids).toEqual(ids.toSorted());
    await ravand.flush();
    const times = browser.received[0]?.batch.map(({ timestamp }) => Date.parse(timestamp)) ?? [];
    expect(times).toEqual(times.map((_, at) => (times[0] ?? 0) + at));
  });

  it('that JSON cannot hold is reported, and the page goes on', async () => {
    const { ravand } = await browser.open(QUIET);
    const errors: Error[] = [];
    ravand.on('error', (error) => errors.push(error));
    ravand.track('e', { big: 1n });
    ravand.track('ok');
    await ravand.flush();
    expect(errors[0]).toBeInstanceOf(TypeError);
    const { balance } = browser.received[0]?.context.library ?? {};
    expect(balance).toEqual({ made: 2, stored: 1, sent: 0, dropped: { invalid: 1 } });
  });

  it('of another page is sent by this one: a closed tab loses nothing', async () => {
    const first = await browser.open(QUIET);
    const ids = [first.ravand.track('a'), first.ravand.track('b')];
    vi.advanceTimersByTime(100 * HOUR);
    const second = await browser.open(QUIET);
    expect(second.ravand).not.toBe(first.ravand);
    await vi.advanceTimersByTimeAsync(1000);
    expect(sentIds()).toEqual([ids]);
  });
});

describe('an answer', () => {
  it.each<[string, 'lost' | { status: number }]>([
    ['that is lost', 'lost'],
    ['503', { status: 503 }],
    ['429', { status: 429 }],
  ])('%s: the same events are sent again, later and later, by any page', async (_, answer) => {
    browser.otherwise = answer;
    const { ravand } = await browser.open(QUIET);
    const id = ravand.track('e');
    await ravand.flush();
    for (const [elapsed, requests] of [
      [499, 1],
      [1, 2],
      [999, 2],
      [1, 3],
    ] as const) {
      await vi.advanceTimersByTimeAsync(elapsed);
      expect(browser.received).toHaveLength(requests);
    }
    // A page that is opened now waits as long as the others, and doubles on.
    await browser.open({ ...QUIET, flushInterval: 1 });
    await vi.advanceTimersByTimeAsync(1998);
    expect(browser.received).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(10);
    expect(browser.received.length).toBeGreaterThan(3);
    browser.otherwise = { status: 200 };
    await vi.advanceTimersByTimeAsync(10_000);
    expect(waitingKeys()).toEqual([]);
    expect(new Set(sentIds().flat())).toEqual(new Set([id]));
  });

  it('with Retry-After is a lower bound', async () => {
    browser.next.push({ status: 503, headers: { 'retry-after': '60' } });
    const { ravand } = await browser.open(QUIET);
    ravand.track('e');
    await ravand.flush();
    await vi.advanceTimersByTimeAsync(59_000);
    expect(browser.received).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1001);
    expect(browser.received).toHaveLength(2);
  });

  it('that was lost is not waited for when the network is back; 503 and 402 are', async () => {
    browser.otherwise = 'lost';
    const { ravand } = await browser.open(QUIET);
    ravand.track('e');
    for (let attempt = 0; attempt < 10; attempt++) await vi.advanceTimersByTimeAsync(HOUR / 4);
    const page = await browser.open(QUIET);
    browser.otherwise = { status: 503 };
    const before = browser.received.length;
    page.dispatch('online');
    await vi.advanceTimersByTimeAsync(0);
    expect(browser.received).toHaveLength(before + 1);
    page.dispatch('online');
    await vi.advanceTimersByTimeAsync(0);
    expect(browser.received).toHaveLength(before + 1);
  });

  it.each([[401], [402], [403]])('%d drops the batch and holds the rest', async (status) => {
    const loud = vi.spyOn(console, 'error').mockReturnValue();
    browser.next.push({ status, body: { status: 'error', message: 'چرا' } });
    const { ravand } = await browser.open(QUIET);
    const rejected: unknown[] = [];
    ravand.on('rejected', (one) => rejected.push(one));
    const id = ravand.track('a');
    await ravand.flush();
    const later = ravand.track('b');
    await vi.advanceTimersByTimeAsync(299_000);
    expect(browser.received).toHaveLength(1);
    expect(rejected).toEqual([{ ids: [id], reason: `http_${status} چرا` }]);
    expect(loud).toHaveBeenCalledTimes(status === 401 ? 1 : 0);
    await vi.advanceTimersByTimeAsync(2000);
    expect(sentIds()).toEqual([[id], [later]]);
  });

  it('413 or 400 drops only the event that is refused alone', async () => {
    const { ravand } = await browser.open(QUIET);
    const ids = Array.from({ length: 20 }, () => ravand.track('e'));
    const bad = ids[7] ?? '';
    const original = browser.fetch;
    vi.stubGlobal('fetch', async (url: string, init: { body: string }) => {
      const some = (JSON.parse(init.body) as { batch: { message_id: string }[] }).batch;
      const isBad = some.some(({ message_id }) => message_id === bad);
      browser.next = isBad ? [{ status: some.length > 9 ? 413 : 400 }] : [];
      return original(url, init);
    });
    expect(await ravand.flush()).toEqual({ sent: 19, pending: 0 });
    expect(browser.received.length).toBeLessThanOrEqual(16);
  });

  it('200 drops the items that it names, with their reasons', async () => {
    const errors = [{ index: 1, reason: 'id_too_long: user_id' }, { index: 7 }];
    browser.next.push({ status: 200, body: { status: 'ok', errors } });
    const { ravand } = await browser.open(QUIET);
    const [sent, rejected]: unknown[][] = [[], []];
    ravand.on('sent', (ids) => sent?.push(ids));
    ravand.on('rejected', (one) => rejected?.push(one));
    const ids = ['a', 'b', 'c'].map((event) => ravand.track(event));
    expect(await ravand.flush()).toEqual({ sent: 2, pending: 0 });
    expect(sent).toEqual([[ids[0], ids[2]]]);
    expect(rejected).toEqual([{ ids: [ids[1]], reason: 'id_too_long: user_id' }]);
    ravand.track('d');
    await ravand.flush();
    expect(browser.received[1]?.context.library.balance).toEqual({
      ...{ made: 4, stored: 4, sent: 2, dropped: { id_too_long: 1 } },
    });
  });

  it.each([['<h1>Sign in</h1>'], ['{"status":"ok","accepted":1,"errors":[{"ind']])(
    'of 200 that is a page for people, or broke off, deletes nothing: %s',
    async (body) => {
      browser.next.push({ status: 200, body });
      const { ravand } = await browser.open(QUIET);
      ravand.track('e');
      expect(await ravand.flush()).toEqual({ sent: 0, pending: 1 });
    },
  );

  it('of 413 is one, whoever gave it: fewer are sent', async () => {
    browser.next.push({ status: 413, body: '<h1>413 Request Entity Too Large</h1>' });
    const { ravand } = await browser.open(QUIET);
    for (let count = 0; count < 4; count++) ravand.track('e');
    expect(await ravand.flush()).toEqual({ sent: 4, pending: 0 });
    expect(browser.received.map(({ batch }) => batch.length)).toEqual([4, 2, 2]);
  });

  it('that is larger than a batch is sent alone', async () => {
    const { ravand } = await browser.open(QUIET);
    const ids = [600_000, 10, 10].map((length) => ravand.track('e', { text: 'x'.repeat(length) }));
    expect(await ravand.flush()).toEqual({ sent: 3, pending: 0 });
    expect(sentIds()).toEqual([ids.slice(0, 1), ids.slice(1)]);
  });
});

describe('Do Not Track', () => {
  const stored = () => [...browser.storage.values.keys()].filter((key) => !/\.[bi]/.test(key));

  it('is obeyed where the page asks for it, until the visitor consents', async () => {
    browser.doNotTrack = '1';
    const page = await browser.open({ ...QUIET, respectDoNotTrack: true });
    page.ravand.track('e');
    expect(await page.ravand.flush()).toEqual({ sent: 0, pending: 0 });
    expect([browser.received, stored()]).toEqual([[], []]);
    page.ravand.consent('granted');
    page.ravand.track('e');
    expect(await page.ravand.flush()).toEqual({ sent: 1, pending: 0 });
  });

  it.each([
    ['1', false],
    ['0', true],
    [null, true],
  ])('%s changes nothing where the setting is %s', async (doNotTrack, respectDoNotTrack) => {
    browser.doNotTrack = doNotTrack;
    const { ravand } = await browser.open({ ...QUIET, respectDoNotTrack });
    ravand.track('e');
    expect(await ravand.flush()).toEqual({ sent: 1, pending: 0 });
  });
});

it('nothing is tried without a network: after a week it is sent', async () => {
  browser.isOnline = false;
  const page = await browser.open(QUIET);
  const ids = [page.ravand.track('a'), page.ravand.track('b')];
  await vi.advanceTimersByTimeAsync(7 * 24 * HOUR);
  page.hide();
  expect([browser.received, browser.beacons]).toEqual([[], []]);
  browser.isOnline = true;
  page.dispatch('online');
  await vi.advanceTimersByTimeAsync(0);
  expect(sentIds()).toEqual([ids]);
});

describe('time', () => {
  it('an event that was once sent is given up after 47 hours; one that never was, never', async () => {
    browser.otherwise = 'lost';
    const first = await browser.open(QUIET);
    const attempted = first.ravand.track('attempted');
    await first.ravand.flush();
    const second = await browser.open({ ...QUIET, consent: 'pending' });
    const never = second.ravand.track('never');
    vi.setSystemTime(Date.now() + 47 * HOUR + 1);
    browser.otherwise = { status: 200 };
    browser.received.length = 0;
    const third = await browser.open(QUIET);
    const rejected: unknown[] = [];
    third.ravand.on('rejected', (one) => rejected.push(one));
    await third.ravand.flush();
    expect(sentIds()).toEqual([[never]]);
    expect(rejected).toEqual([{ ids: [attempted], reason: 'unknown' }]);
    expect(browser.received[0]?.context.library.balance).toMatchObject({ dropped: { unknown: 1 } });
  });

  it('a clock that was a year ahead holds nothing up', async () => {
    const now = Date.now();
    vi.setSystemTime(now + 365 * 24 * HOUR);
    browser.next.push({ status: 503 });
    const first = await browser.open(QUIET);
    first.ravand.track('e');
    await first.ravand.flush();
    vi.setSystemTime(now);
    const second = await browser.open(QUIET);
    expect(await second.ravand.flush()).toEqual({ sent: 1, pending: 0 });
  });
});

describe('leaving the page', () => {
  it('hands what waits to the browser once, as a hint', async () => {
    const { ravand, ...page } = await browser.open(QUIET).then((one) => ({
      ravand: one.ravand,
      hide: () => one.hide(),
      unload: () => one.dispatch('pagehide'),
    }));
    const id = ravand.track('e');
    page.hide();
    page.unload();
    expect(browser.beacons.map(({ batch }) => batch.map((one) => one.message_id))).toEqual([[id]]);
    expect(waitingKeys()).toHaveLength(1);
    await (await browser.open(QUIET)).ravand.flush();
    expect(sentIds()).toEqual([[id]]);
  });

  it('hands over nothing that browsers refuse: it was never sent, and waits for ever', async () => {
    const page = await browser.open(QUIET);
    const id = page.ravand.track('e', { text: 'x'.repeat(70_000) });
    page.hide();
    expect(browser.beacons).toEqual([]);
    vi.setSystemTime(Date.now() + 72 * HOUR);
    await (await browser.open(QUIET)).ravand.flush();
    expect(sentIds()).toEqual([[id]]);
  });

  it('hands over at most 60 kB, and nothing while the host wants nothing', async () => {
    const page = await browser.open(QUIET);
    for (let at = 0; at < 90; at++) page.ravand.track('e', { text: 'م'.repeat(1000) });
    page.hide();
    const [beacon] = browser.beacons;
    expect(Buffer.byteLength(JSON.stringify(beacon))).toBeLessThan(64 * 1024);
    expect(beacon?.batch.length).toBeGreaterThan(10);
    browser.next.push({ status: 402 });
    await page.ravand.flush();
    page.ravand.track('later');
    page.hide();
    expect(browser.beacons).toHaveLength(1);
  });
});

describe('storage', () => {
  it('that is refused or full: events wait in memory, and it is reported', async () => {
    for (const refuse of [
      () => (browser.storage.isForbidden = true),
      () => (browser.storage.quota = 0),
    ]) {
      browser = new FakeBrowser();
      refuse();
      const { ravand } = await browser.open(QUIET);
      const errors: string[] = [];
      ravand.on('error', ({ message }) => errors.push(message));
      const anonymous = ravand.anonymousId();
      ravand.identify('sara');
      const id = ravand.track('e');
      expect([ravand.anonymousId(), ravand.userId()]).toEqual([anonymous, 'sara']);
      expect(await ravand.flush()).toEqual({ sent: 2, pending: 0 });
      expect(sentIds()[0]).toContain(id);
      expect(errors).toEqual(Array(2).fill('storage refuses events'));
      const { balance } = browser.received[0]?.context.library ?? {};
      expect(balance).toMatchObject({ made: 2, stored: 0 });
    }
  });

  it('that is full when an event is sent still notes that it was', async () => {
    const first = await browser.open(QUIET);
    first.ravand.track('e');
    browser.storage.quota = 0;
    browser.otherwise = 'lost';
    await first.ravand.flush();
    vi.setSystemTime(Date.now() + 48 * HOUR);
    browser.received.length = 0;
    const second = await browser.open(QUIET);
    await second.ravand.flush();
    expect(sentIds()).toEqual([]);
  });

  it('keeps about 3000 events when the host is blocked for ever: the newest', async () => {
    browser.otherwise = 'lost';
    const first = await browser.open({ ...QUIET, consent: 'pending' });
    const ids = Array.from({ length: 3200 }, () => first.ravand.track('e'));
    expect(waitingKeys().length).toBeLessThan(3050);
    // A page that makes one call looks, too.
    vi.advanceTimersByTime(10_000);
    const last = await browser.open({ ...QUIET, consent: 'pending' });
    ids.push(last.ravand.track('e'));
    const kept = waitingKeys().toSorted();
    expect(kept).toHaveLength(3000);
    expect(kept[0]?.endsWith(ids[201] ?? '')).toBe(true);
    expect(kept.at(-1)?.endsWith(ids[3200] ?? '')).toBe(true);
  });

  it('of memory alone, when asked for, leaves nothing behind', async () => {
    const { ravand } = await browser.open({ ...QUIET, persistence: 'memory' });
    const errors: unknown[] = [];
    ravand.on('error', (error) => errors.push(error));
    ravand.track('e');
    expect(await ravand.flush()).toEqual({ sent: 1, pending: 0 });
    expect([browser.storage.values.size, errors]).toEqual([0, []]);
  });

  it('with damaged values does not stop the page', async () => {
    for (const key of ['s', 'h', 'e', 'b0.1'])
      browser.storage.values.set(`ravand.0123456789ab.${key}`, '{"damaged');
    const errors = [{ index: 0, reason: 'unknown_type' }];
    browser.next.push({ status: 200, body: { status: 'ok', errors } });
    const { ravand } = await browser.open(QUIET);
    ravand.track('e');
    expect(await ravand.flush()).toEqual({ sent: 1, pending: 0 });
  });
});

describe('the books', () => {
  const balance = () => browser.received.at(-1)?.context.library.balance;
  const booksOf = () => [...browser.storage.values.keys()].filter((key) => /\.b/.test(key));

  it('of all pages are one, and those of many pages are added up when they do not change any more', async () => {
    vi.mocked(Math.random).mockRestore();
    for (let number = 0; number < 70; number++) (await browser.open(QUIET)).ravand.track('e');
    expect(booksOf()).toHaveLength(70);
    const last = await browser.open(QUIET);
    await last.ravand.flush();
    expect(balance()).toEqual({ made: 70, stored: 70, sent: 0, dropped: {} });
    expect(booksOf()).toHaveLength(71);
    vi.setSystemTime(Date.now() + 300_000);
    for (const number of [1, 2]) {
      last.ravand.track('e');
      await last.ravand.flush();
      const counts = { made: 70 + number, stored: 70 + number, sent: 69 + number, dropped: {} };
      expect(balance()).toEqual(counts);
      // The sum, and the entry of this period.
      expect(booksOf()).toHaveLength(2);
    }
  });

  it('have nothing open that was sent by a page which was killed while it noted that', async () => {
    for (let writes = 0; writes < 5; writes++) {
      browser.storage.values.clear();
      const first = await browser.open(QUIET);
      for (const name of ['a', 'b', 'c']) first.ravand.track(name);
      browser.whenReceived = () => {
        browser.storage.writesLeft = writes;
        browser.otherwise = 'never';
      };
      browser.next.push({ status: 200, body: { status: 'ok' } });
      void first.ravand.flush();
      await vi.advanceTimersByTimeAsync(10);
      Object.assign(browser, { whenReceived: undefined, otherwise: { status: 200 } });
      browser.storage.writesLeft = Infinity;
      const second = await browser.open(QUIET);
      second.ravand.track('d');
      await second.ravand.flush();
      second.ravand.track('e');
      await second.ravand.flush();
      const { made, sent } = balance() as { made: number; sent: number };
      // The last one is the request's own.
      expect([made, sent - (made - 1) >= 0]).toEqual([5, true]);
    }
  });

  it('are those of one client, whoever the visitor is', async () => {
    const { ravand } = await browser.open(QUIET);
    for (let visitor = 0; visitor < 2; visitor++) {
      ravand.track('e');
      await ravand.flush();
      ravand.reset();
    }
    const clients = browser.received.map(({ context }) => context.library.client);
    expect(new Set(clients).size).toBe(1);
  });
});
