/**
 * node bench/sdk-comparison.ts [--events 1000] [--only NAME]
 *
 * Sizes of SDKs for browsers, and what becomes of their events in Chromium: of a visitor whose tabs
 * are closed, reloaded, left and killed, online and offline, while every second request fails in
 * one of four ways; and of two visitors who are offline for six hours, one of whom closes the tab
 * before the network is back. Each SDK sends to a host that records everything. Installs the others
 * from npm (.ravand/cache); needs no stack.
 */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { parseLine } from '../cli/arguments.ts';
import { startFaultyProxy, type Fault } from '../test/integration/sdk/faulty-proxy.ts';
import { launch } from '../test/integration/sdk/shop.ts';
import { torture, type Calls } from '../test/integration/sdk/torture.ts';
import { bundle, install } from './sdk-comparison/bundle.ts';
import { CANDIDATES, type Candidate } from './sdk-comparison/candidates.ts';
import { startRecorder, type Recorder } from './sdk-comparison/recorder.ts';
import { numberOf } from './numbers.ts';

/** A page is open so long after the last event arrived, ms, but not longer than LONGEST_MS. */
const QUIET_MS = 15_000;
const LONGEST_MS = 90_000;
const HOUR = 3_600_000;
const HOURS = 6;
const EVENTS_PER_HOUR = 10;
const COLUMNS = [
  ...[
    'SDK',
    'bytes',
    'gzip',
    'requests',
    'preflights',
    'lost',
    'copies, same id',
    'copies, other id',
  ],
  ...['lost offline, tab open', 'lost offline, tab closed'],
];

type SdkWindow = typeof globalThis & {
  ready: Promise<unknown>;
  make: (tab: number, first: number, count: number) => void;
};

const { values } = parseLine({
  args: process.argv.slice(2),
  usage: 'bench sdk-comparison -- [--events N] [--only NAME]',
  options: { events: { type: 'string', default: '1000' }, only: { type: 'string' } },
});
const events = numberOf(values, 'events');
const chosen = CANDIDATES.filter(({ name }) => values.only === undefined || name === values.only);
await install(chosen);
const row = (cells: readonly unknown[]) => console.log(`| ${cells.join(' | ')} |`);
console.log(
  `events of the first visitor: ${events}; of each of the others: ${HOURS * EVENTS_PER_HOUR}`,
);
row(COLUMNS);
row(COLUMNS.map(() => '---'));
for (const candidate of chosen) row(await measure(candidate));

async function measure(candidate: Candidate): Promise<readonly unknown[]> {
  // Pages ask for it when it is made.
  const recorder = await startRecorder(candidate, () => size);
  const proxy = await startFaultyProxy(recorder.url);
  const size = await bundle(candidate, proxy.url);
  const browser = await launch();
  try {
    const setFault = (fault: Fault) => (proxy.fault = fault);
    const context = await browser.newContext();
    const open = () => openSdkPage(context, recorder.url);
    await torture({ context, open, make, setFault }, events);
    await open();
    await untilQuiet(recorder);
    await context.close();
    const { requests, preflights } = recorder;
    const { lost, copies, doubled } = outcome(recorder);
    const offline = [];
    for (const isClosed of [false, true]) {
      recorder.arrived = [];
      offline.push(await lostOffline({ browser, recorder, isClosed }));
    }
    const name = candidate.package ?? `${candidate.name}, this checkout`;
    return [name, size.bytes, size.gzip, requests, preflights, lost, copies, doubled, ...offline];
  } finally {
    await browser.close();
    await Promise.all([proxy.close(), recorder.close()]);
  }
}

async function openSdkPage(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForFunction(() => 'make' in globalThis);
  await page.evaluate(async () => {
    const late = new Promise((_, reject) => {
      setTimeout(() => reject(new Error('the SDK is not ready after 30 seconds')), 30_000);
    });
    await Promise.race([(globalThis as SdkWindow).ready, late]);
  });
  return page;
}

function make(page: Page, { tab, first, count }: Calls): Promise<void> {
  return page.evaluate(
    ([own, from, many]) => {
      (globalThis as SdkWindow).make(own, from, many);
    },
    [tab, first, count] as const,
  );
}

interface Offline {
  browser: Browser;
  recorder: Recorder;
  /** Whether the tab is closed without a network, and another one opened with it. */
  isClosed: boolean;
}

/** How many events of hours without a network never arrive. The clock of the page is simulated. */
async function lostOffline({ browser, recorder, isClosed }: Offline): Promise<number> {
  const context = await browser.newContext();
  await context.clock.install({ time: Date.now() - HOURS * HOUR });
  const page = await openSdkPage(context, recorder.url);
  await context.setOffline(true);
  for (let hour = 0; hour < HOURS; hour++) {
    await make(page, { tab: 0, first: hour * EVENTS_PER_HOUR, count: EVENTS_PER_HOUR });
    await context.clock.fastForward(HOUR);
  }
  if (isClosed) await page.close();
  await context.setOffline(false);
  if (isClosed) await openSdkPage(context, recorder.url);
  // The longest delay of the next attempt is over.
  else for (let minute = 0; minute < 10; minute++) await context.clock.fastForward(60_000);
  await untilQuiet(recorder);
  await context.close();
  return HOURS * EVENTS_PER_HOUR - new Set(recorder.arrived.map(({ number }) => number)).size;
}

async function untilQuiet(recorder: Recorder): Promise<void> {
  const end = Date.now() + LONGEST_MS;
  let [count, since] = [-1, Date.now()];
  while (Date.now() < Math.min(end, since + QUIET_MS)) {
    if (recorder.arrived.length !== count) [count, since] = [recorder.arrived.length, Date.now()];
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function outcome({ arrived }: Recorder): { lost: number; copies: number; doubled: number } {
  const numbers = new Set(arrived.map(({ number }) => number));
  const ids = new Set(arrived.map(({ id }) => id));
  return {
    lost: events - numbers.size,
    copies: arrived.length - ids.size,
    doubled: ids.size - numbers.size,
  };
}
