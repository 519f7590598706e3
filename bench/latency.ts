import { randomUUID } from 'node:crypto';
import { seedAccount } from './account.ts';
import { percentile, postAtRate } from './load-client.ts';
import { benchStack } from './stack.ts';
import { numericOptions } from './numbers.ts';

/**
 * `node bench/latency.ts [--rate 2000] [--seconds 60] [--connections 64]`: how long single events
 * wait for their answer at a fixed rate, with every service of the stack running. The first ten
 * seconds are not measured.
 */
const { rate, seconds, connections } = numericOptions('latency', {
  rate: 2000,
  seconds: 60,
  connections: 64,
});
const WARM_UP_SECONDS = 10;
const PEOPLE = 20_000;

const ready = benchStack();
const run = randomUUID();
const { writeKey } = await seedAccount(ready.database_url, `bench ${run}`);

const post = (name: string, duration: number) =>
  postAtRate({
    url: `${ready.ingest_url}/v1/track`,
    headers: { authorization: `Bearer ${writeKey}` },
    body: (n) =>
      JSON.stringify({
        event: 'product_viewed',
        ...{ user_id: `user-${n % PEOPLE}`, message_id: `${run}-${name}-${n}` },
        timestamp: new Date().toISOString(),
        properties: { product_id: `sku-${n % 5000}`, price: n % 977, category: 'audio' },
        context: { library: { name: 'web', version: '2.1.0' }, locale: 'fa-IR' },
      }),
    ...{ connections, rate, duration: duration * 1000 },
  });

await post('warm-up', WARM_UP_SECONDS);
const { answered, failed, latencies } = await post('measured', seconds);
console.table([
  {
    'events/s': Math.round(answered / seconds),
    failed,
    'p50 ms': Number(percentile(latencies, 0.5).toFixed(1)),
    'p95 ms': Number(percentile(latencies, 0.95).toFixed(1)),
    'p99 ms': Number(percentile(latencies, 0.99).toFixed(1)),
  },
]);
