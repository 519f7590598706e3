/**
 * node bench/sdk-comparison.ts [--events 1000]
 *
 * Sizes of SDKs for browsers, and what becomes of the events of one visitor in Chromium when tabs
 * are closed, reloaded, left and killed, online and offline, while every second request fails in
 * one of four ways. Each SDK sends to a host that records everything. Installs the others from npm
 * (.ravand/cache); needs no stack.
 */
import type { Page } from 'playwright-core';
import { parseLine } from '../cli/arguments.ts';
import { startFaultyProxy } from '../test/integration/sdk/faulty-proxy.ts';
import { launch } from '../test/integration/sdk/shop.ts';
import { torture, type Calls } from '../test/integration/sdk/torture.ts';
import { bundle, install, type Bundle } from './sdk-comparison/bundle.ts';
import { CANDIDATES, type Candidate } from './sdk-comparison/candidates.ts';
import { startRecorder, type Recorder } from './sdk-comparison/recorder.ts';

/** The last page is open so long after the last event arrived, ms, but not longer than this. */
const QUIET_MS = 15_000;
const LONGEST_MS = 60_000;

type SdkWindow = typeof globalThis & {
  ready: Promise<unknown>;
  make: (tab: number, first: number, count: number) => void;
};

const { values } = parseLine({
  args: process.argv.slice(2),
  usage: 'bench sdk-comparison -- [--events N]',
  options: { events: { type: 'string', default: '1000' } },
});
const events = Number(values.events);
await install(CANDIDATES);
console.log(
  '| SDK | bytes | gzip | events made | lost | more than once, same id | more than once, other id | requests | preflights |',
);
console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- |');
for (const candidate of CANDIDATES) {
  const { size, recorder } = await measure(candidate);
  const { lost, copies, doubled } = outcome(recorder);
  const name = candidate.package ?? `${candidate.name}, this checkout`;
  const { bytes, gzip } = size;
  const { requests, preflights } = recorder;
  console.log(
    `| ${[name, bytes, gzip, events, lost, copies, doubled, requests, preflights].join(' | ')} |`,
  );
}

async function measure(candidate: Candidate): Promise<{ size: Bundle; recorder: Recorder }> {
  // Pages ask for it when it is made.
  const recorder = await startRecorder(candidate, () => size);
  const proxy = await startFaultyProxy(recorder.url);
  const size = await bundle(candidate, proxy.url);
  const browser = await launch();
  const context = await browser.newContext();
  const open = async () => {
    const page = await context.newPage();
    await page.goto(recorder.url);
    await page.waitForFunction(() => 'make' in globalThis);
    await page.evaluate(async () => {
      const late = new Promise((_, reject) => {
        setTimeout(() => reject(new Error('the SDK is not ready after 15 seconds')), 15_000);
      });
      await Promise.race([(globalThis as SdkWindow).ready, late]);
    });
    return page;
  };
  const make = (page: Page, { tab, first, count }: Calls) =>
    page.evaluate(
      ([own, from, many]) => {
        (globalThis as SdkWindow).make(own, from, many);
      },
      [tab, first, count] as const,
    );
  await torture({ context, open, make, setFault: (fault) => (proxy.fault = fault) }, events);
  await open();
  await untilQuiet(recorder);
  await browser.close();
  await Promise.all([proxy.close(), recorder.close()]);
  return { size, recorder };
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
