import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFaultyProxy, type Fault, type FaultyProxy } from '../integration/sdk/faulty-proxy.ts';
import { flush, launch, openPage, openShop } from '../integration/sdk/shop.ts';
import type { Shop, ShopWindow } from '../integration/sdk/shop.ts';
import { torture, type Calls } from '../integration/sdk/torture.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { createAccount, eventually, FULL, ravand, readyStack } from '../support/stack.ts';
import { rows, sleep, type TestAccount } from '../support/stack.ts';
import { openClickhouse } from '../support/stack-clients.ts';

/** Of one visitor, through everything that pages, networks and hosts do to them. */
const EVENTS = FULL ? 5000 : 400;
const HOUR = 3_600_000;
/** Of a batch of the SDK. */
const MAX_ITEMS = 100;
/** A gateway records the balance of a client once a minute. */
const BALANCE_MS = 61_000;

const client = openClickhouse();
let account: TestAccount;
let proxy: FaultyProxy;
let shop: Shop;
let browser: Browser;

beforeAll(async () => {
  account = await createAccount('sdk');
  proxy = await startFaultyProxy(readyStack().ingest_url);
  shop = await openShop(proxy.url, account.writeKey);
  shop.options = { autoPage: false, flushAt: 5, flushInterval: 50 };
  browser = await launch();
});
afterAll(async () => {
  await browser.close();
  await Promise.all([shop.close(), proxy.close(), client.close()]);
});

interface StoredEvent {
  number: number;
  tab: number;
  message_id: string;
  anonymous_id: string;
  session_id: string;
  /** ms since the epoch */
  time: number;
}

/** What ClickHouse has of an event, by time; each copy is one. */
const stored = (event: string) =>
  rows<StoredEvent>(
    client,
    `SELECT toUInt32(property_numbers['number']) AS number, toInt32(property_numbers['tab']) AS tab,
       message_id, anonymous_id, session_id, toUnixTimestamp64Milli(timestamp) AS time
     FROM events WHERE account_id = {id:UInt64} AND event = {event:String} ORDER BY timestamp`,
    { id: account.accountId, event },
  );

/** What ClickHouse has when so many have arrived, and a moment later: copies would come, too. */
async function arrived(event: string, count: number): Promise<StoredEvent[]> {
  await eventually(
    { ms: 90_000, every: 1000, waitingFor: `${count} rows of ${event}` },
    async () => ((await stored(event)).length >= count ? true : undefined),
  );
  await sleep(3000);
  return stored(event);
}

const make =
  (event: string) =>
  (page: Page, { tab, first, count }: Calls): Promise<string[]> =>
    page.evaluate(
      ([name, own, from, to]) => {
        const ids = [];
        for (let number = from; number < to; number++)
          ids.push((globalThis as ShopWindow).ravand.track(name, { number, tab: own }));
        return ids;
      },
      [event, tab, first, first + count] as const,
    );

const open = (context: BrowserContext) => openPage(context, `${shop.origin}/`);
const untilSent = (page: Page) =>
  expect.poll(async () => (await flush(page)).pending, { timeout: 60_000, interval: 500 }).toBe(0);

describe('Events of a page (ingest 7.5)', () => {
  it(
    'are there once, in their order, after tabs were closed, reloaded and killed, offline and while requests failed',
    async () => {
      const context = await browser.newContext();
      const ids = new Set<string>();
      await torture(
        {
          context,
          open: () => open(context),
          make: async (page, calls) => {
            for (const id of await make('torture')(page, calls)) ids.add(id);
          },
          setFault: (fault) => (proxy.fault = fault),
          hasMet: (fault) => proxy.counts.has(fault),
        },
        EVENTS,
      );
      const last = await open(context);
      await untilSent(last);
      const found = await arrived('torture', EVENTS);
      const numbers = found.map(({ number }) => number).sort((a, b) => a - b);
      expect(numbers).toEqual(Array.from({ length: EVENTS }, (_, number) => number));
      expect(new Set(found.map(({ message_id }) => message_id))).toEqual(ids);
      expect(new Set(found.map(({ anonymous_id }) => anonymous_id)).size).toBe(1);
      for (const tab of new Set(found.map((one) => one.tab))) expectOrder(found, tab);
      // The test is worth something only if requests failed in every way.
      for (const fault of ['lost', 'refuse', 503, 429] as Fault[])
        expect(proxy.counts.get(fault)).toBeGreaterThan(0);
      await expectBalance(last, EVENTS);
      await context.close();
    },
    testTimeout(420_000),
  );

  it('that were made in hours offline are there once, at their times, in sessions of their own', async () => {
    const context = await browser.newContext();
    const hours = 6;
    // The clock of the page ends at the time of the host.
    await context.clock.install({ time: Date.now() - hours * HOUR });
    const page = await open(context);
    await context.setOffline(true);
    for (let hour = 0; hour < hours; hour++) {
      await make('offline')(page, { tab: hour, first: hour * 10, count: 10 });
      await context.clock.fastForward(HOUR);
    }
    await context.setOffline(false);
    await context.clock.runFor(1000);
    await untilSent(page);
    const found = await arrived('offline', hours * 10);
    expect(found.map(({ number }) => number)).toEqual(Array.from({ length: 60 }, (_, at) => at));
    expect(new Set(found.map(({ session_id }) => session_id)).size).toBe(hours);
    const [first, newest] = [found[0]?.time ?? 0, found.at(-1)?.time ?? 0];
    expect(Math.round((newest - first) / HOUR)).toBe(hours - 1);
    await context.close();
  });
});

/** What one tab made has strictly increasing times, in the order of its calls. */
function expectOrder(found: readonly StoredEvent[], tab: number): void {
  const own = found.filter((one) => one.tab === tab);
  const byNumber = own.toSorted((a, b) => a.number - b.number);
  expect(own.map(({ number }) => number)).toEqual(byNumber.map(({ number }) => number));
  expect(new Set(own.map(({ time }) => time)).size).toBe(own.length);
}

interface Balances {
  balances: {
    library: string;
    version: string;
    clients: number;
    made: number;
    sent: number;
    dropped: Record<string, number>;
    unresolved: number;
  }[];
}
const balancesOf = async (library: string) => {
  const asked = ['quality', '--balances', '--json', '--account', String(account.accountId)];
  const { balances } = JSON.parse(await ravand(...asked)) as Balances;
  return balances.find((one) => one.library === library);
};

/** The books of the browser are in the quality report of its version: nothing was dropped. */
async function expectBalance(page: Page, made: number): Promise<void> {
  await sleep(BALANCE_MS);
  await make('balance')(page, { tab: 0, first: 0, count: 1 });
  await untilSent(page);
  await eventually({ ms: 60_000, every: 2000, waitingFor: 'the balance' }, async () => {
    const balance = await balancesOf('ravand-browser');
    return balance && balance.made > made ? true : undefined;
  });
  const balance = await balancesOf('ravand-browser');
  expect(balance).toMatchObject({
    ...{ library: 'ravand-browser', version: '1.0.0', clients: 1, accounts: 1 },
    ...{ made: made + 1, dropped: {}, unresolved: 0 },
  });
  // The last batch of a tab is counted again when it ends before it has removed what it counted, or
  // before others have seen that.
  expect(balance?.sent).toBeGreaterThanOrEqual(made);
  expect(balance?.sent).toBeLessThanOrEqual(made + 2 * MAX_ITEMS);
}

describe('Events of a Node process with a queue file (ingest 7.5)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ravand-killed-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const KILLS = 20;
  const FAULTS: Fault[] = ['none', 'lost', 503, 'refuse', 429];

  /** Makes events without end; prints the number of one when it is durable (300 ms). */
  const program = () => `
    import { Ravand } from ${JSON.stringify(join(import.meta.dirname, '../../sdk/node/src/index.ts'))};
    const ravand = new Ravand(${JSON.stringify({
      ...{ writeKey: account.writeKey, host: proxy.url, flushAt: 10, flushInterval: 20 },
      queueFile: join(folder, 'queue'),
    })});
    let number = Number(process.argv[2]);
    setInterval(() => {
      const own = number++;
      ravand.track({ userId: 'u', event: 'killed', properties: { number: own, tab: 0 } });
      setTimeout(() => console.log(own), 300);
    }, 5);`;

  /** Runs it until it has printed `lines` numbers, and kills it; answers the last. */
  async function runAndKill(script: string, first: number, lines: number): Promise<number> {
    const child = spawn(process.execPath, [script, String(first)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = new Promise((resolve) => child.on('exit', resolve));
    let last = -1;
    for await (const line of createInterface(child.stdout)) {
      last = Number(line);
      if (last >= first + lines) child.kill('SIGKILL');
    }
    await exited;
    return last;
  }

  it(
    'are there once, in their order, after kill -9 while requests failed',
    async () => {
      const script = join(folder, 'program.ts');
      writeFileSync(script, program());
      const durable: number[] = [];
      for (let kill = 0; kill < KILLS; kill++) {
        proxy.fault = FAULTS[kill % FAULTS.length] ?? 'none';
        const first = kill * 1000;
        const last = await runAndKill(script, first, 40 + (kill % 7));
        for (let number = first; number <= last; number++) durable.push(number);
      }
      proxy.fault = 'none';
      const rest = join(folder, 'rest.ts');
      writeFileSync(
        rest,
        program().replace(/setInterval[^]*/, 'await ravand.close(30_000); process.exit();'),
      );
      await runAndKill(rest, 0, Number.POSITIVE_INFINITY);
      const found = await arrived('killed', durable.length);
      const numbers = found.map(({ number }) => number);
      expect(new Set(numbers).size).toBe(numbers.length);
      expect(numbers).toEqual(expect.arrayContaining(durable));
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
      expect(durable.length).toBeGreaterThan(KILLS * 40);
      await eventually({ ms: 60_000, every: 2000, waitingFor: 'the balances' }, async () =>
        ((await balancesOf('ravand-node'))?.clients ?? 0) > 1 ? true : undefined,
      );
    },
    testTimeout(240_000),
  );
});
