import { createClient } from '@clickhouse/client';
import { randomUUID } from 'node:crypto';
import { seedAccount } from './account.ts';
import type { Ready } from '../cli/stack/ready.ts';
import { RawClient } from './http/raw-client.ts';
import { percentile, postAtRate } from './load-client.ts';
import { FEW_ROWS } from '../platform/clickhouse/few-rows.ts';
import { BatchTemplate } from './batch-template.ts';
import { benchStack } from './stack.ts';
import { numericOptions } from './numbers.ts';

const BATCH = 50;
const PEOPLE = 20_000;
const PROBE_EVERY = 200;

interface EndToEnd {
  /** Events per second that were answered 200. */
  rate: number;
  failed: number;
  seconds: number;
  answerP99: number;
  probes: number;
  /** From the answer to the row being visible in ClickHouse, ms. */
  visibleP50: number;
  visibleP99: number;
  missing: number;
}

/**
 * The whole path: batches of fifty at a fixed rate through a running stack. Probe events in another
 * account measure the time between the answer and the visible row.
 */
async function measure(options: {
  ready: Ready;
  loadKey: string;
  probeKey: string;
  probeAccount: number;
  rate: number;
  seconds: number;
}): Promise<EndToEnd> {
  const { ready } = options;
  const run = randomUUID().slice(0, 8);
  const clickhouse = createClient({
    url: ready.clickhouse_url,
    database: ready.clickhouse_database,
  });
  // When each probe was answered and found, by its number.
  const answered = new Map<number, number>();
  const visible = new Map<number, number>();
  let running = true;

  const probes = new RawClient({ url: ready.ingest_url, max: 2 });
  const prober = async () => {
    for (let number = 1; running; number++) {
      const { status } = await probes.post({
        path: '/v1/track',
        headers: { authorization: `Bearer ${options.probeKey}` },
        body: JSON.stringify({
          event: 'probe',
          ...{ user_id: `probe-${number}`, message_id: `${run}-p${number}` },
          context: { campaign: { campaign_id: number } },
        }),
      });
      if (status === 200) answered.set(number, performance.now());
      await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY));
    }
  };
  const watcher = async () => {
    const deadline = () => !running && [...answered.keys()].every((one) => visible.has(one));
    for (let quiet = 0; !deadline() && quiet < 400; quiet += running ? 0 : 1) {
      const answer = await clickhouse.query({
        // Each condition more would read another column of each part. Rows of the load, in the same
        // granules as the probes, have no campaign: its column takes the least to read.
        query: 'SELECT toUInt32(campaign_id) AS number FROM events WHERE account_id = {a:UInt64}',
        query_params: { a: options.probeAccount },
        format: 'JSONEachRow',
        // Ten times a second: it should not be a part of what is measured.
        clickhouse_settings: { ...FEW_ROWS, max_threads: 1, output_format_parallel_formatting: 0 },
      });
      const at = performance.now();
      for (const { number } of await answer.json<{ number: number }>())
        if (!visible.has(number)) visible.set(number, at);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  const begun = performance.now();
  const watching = watcher();
  const probing = prober();
  const load = await postAtRate({
    url: `${ready.ingest_url}/v1/batch`,
    headers: { authorization: `Bearer ${options.loadKey}` },
    body: batches(run),
    connections: 24,
    rate: options.rate / BATCH,
    duration: options.seconds * 1000,
  });
  const seconds = (performance.now() - begun) / 1000;
  running = false;
  await probing;
  probes.close();
  await watching;
  await clickhouse.close();
  const delays = [...answered].flatMap(([number, at]) => {
    const seen = visible.get(number);
    return seen === undefined ? [] : [Math.max(0, seen - at)];
  });
  return {
    rate: (load.answered * BATCH) / seconds,
    failed: load.failed,
    seconds,
    answerP99: percentile(load.latencies, 0.99),
    probes: answered.size,
    visibleP50: percentile(delays, 0.5),
    visibleP99: percentile(delays, 0.99),
    missing: answered.size - delays.length,
  };
}

/** Batches as a server SDK sends them: events of several people, about 450 bytes each. */
function batches(run: string): (n: number) => Buffer {
  const items = Array.from(
    { length: BATCH },
    (_, i) =>
      `{"type":"track","event":"product_viewed","user_id":"user-#####","message_id":"${run}-#########","properties":{"product_id":"sku-####","product_name":"Wireless headphones","category":"audio","price":####,"currency":"IRR","position":${i}},"context":{"library":{"name":"web","version":"2.1.0"},"page":{"url":"https://shop.example/p/####","path":"/p/####","title":"Wireless headphones"},"locale":"fa-IR","session_id":"s-#####"}}`,
  );
  const template = new BatchTemplate(`{"batch":[${items.join(',')}]}`);
  const numbers: number[] = [];
  return (n) => {
    numbers.length = 0;
    for (let number = n * BATCH; number < (n + 1) * BATCH; number++) {
      const product = number % 5000;
      numbers.push((number * 7919) % PEOPLE, number, product, 1000 + (number % 977));
      numbers.push(product, product, number % PEOPLE);
    }
    return template.with(numbers);
  };
}

const { rate, seconds } = numericOptions('end-to-end', { rate: 16_000, seconds: 120 });
const ready = benchStack();
const [load, probe] = [
  await seedAccount(ready.database_url, 'bench load'),
  await seedAccount(ready.database_url, 'bench probes'),
];
const found = await measure({
  ready,
  loadKey: load.writeKey,
  probeKey: probe.writeKey,
  probeAccount: probe.accountId,
  rate,
  seconds,
});
const ms = (value: number) => `${Math.round(value).toLocaleString('en')} ms`;
console.log(
  '| events/s answered | seconds | failed | answer p99 | visible p50 | visible p99 | probes | not visible |',
);
console.log('| --- | --- | --- | --- | --- | --- | --- | --- |');
console.log(
  `| ${Math.round(found.rate).toLocaleString('en')} | ${Math.round(found.seconds)} | ${found.failed} | ${ms(found.answerP99)} | ${ms(found.visibleP50)} | ${ms(found.visibleP99)} | ${found.probes} | ${found.missing} |`,
);
