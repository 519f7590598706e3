/**
 * node bench/sdk.ts [--calls 20000]
 *
 * The SDKs for browsers and for Node: the time of a call, events a second until the host has
 * answered all of them, and bytes. The receiver is a process of its own that answers at once. Needs
 * no stack.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { startRecordingHost } from '../test/integration/sdk/recording-host.ts';
import { builtSdk } from '../test/integration/sdk/shop.ts';
import { NODE_SDKS } from './sdk/node-calls.ts';
import { measurePage, sendFromPage } from './sdk/page-calls.ts';
import { numericOptions } from './numbers.ts';

const { calls } = numericOptions('sdk', { calls: 20_000 });
const receiver = fork(join(import.meta.dirname, 'sdk/receiver-process.ts'));
const host = `http://127.0.0.1:${await nextMessage<number>(receiver)}`;

console.log('| Node | calls/s | events/s until answered | bytes an event | requests |');
console.log('| --- | --- | --- | --- | --- |');
for (const { name, run } of NODE_SDKS)
  for (const isMeasured of [false, true]) {
    const from = performance.now();
    const finish = await run(host, calls);
    const made = performance.now();
    await finish();
    const answered = performance.now();
    const { requests, bytes } = await report();
    const rates = [made, answered].map((end) => Math.round((calls * 1000) / (end - from)));
    if (isMeasured)
      console.log(`| ${[name, ...rates, Math.round(bytes / calls), requests].join(' | ')} |`);
  }

const pages = await startRecordingHost(builtSdk());
console.log('\n| browser, events waiting | call, µs | bare localStorage.setItem, µs |');
console.log('| --- | --- | --- |');
for (const { waiting, call, bare } of await measurePage(pages.url, [0, 800, 2700]))
  console.log(`| ${waiting} | ${call.toFixed(0)} | ${bare.toFixed(0)} |`);
await report();
await sendFromPage(pages.url, host);
const { requests, bytes } = await report();
console.log(`\nbrowser: 100 events in ${requests} requests, ${Math.round(bytes / 100)} bytes each`);
await pages.close();
receiver.disconnect();

function report(): Promise<{ requests: number; bytes: number }> {
  const answer = nextMessage<{ requests: number; bytes: number }>(receiver);
  receiver.send('report');
  return answer;
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve) => child.once('message', (message) => resolve(message as T)));
}
