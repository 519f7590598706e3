/**
 * node bench/rebuild.ts [--events 300000] [--people 20000] [--items 50]
 * Rows per second, CPU and memory of `./ravand rebuild` of events and of profiles, from events.raw
 * and from events.normalised, over the whole log of the stack under RAVAND_HOME. First adds events
 * to events.raw and waits until the live tables have them.
 */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { partitionOf } from '../events/partition.ts';
import { sampleRecord, type SampleEvent } from '../events/testing/raw-records.ts';
import { connectClickhouse } from '../platform/clickhouse/client.ts';
import { topicEnds, withKafkaAdmin } from '../platform/kafka/admin.ts';
import { clickhouseSettings, kafkaSettings } from '../platform/settings-common.ts';
import { parseSettings } from '../platform/settings.ts';
import { rawRecordCodec } from '../schemas/codec.ts';
import { seedAccount } from './account.ts';
import { connectTestProducer } from '../test/support/producer.ts';
import { TOPIC } from '../schemas/topology.ts';
import { benchStack } from './stack.ts';
import { numericOptions } from './numbers.ts';

const { events, people, items } = numericOptions('rebuild', {
  events: 300_000,
  people: 20_000,
  items: 50,
});
const ready = benchStack();
const settings = parseSettings(
  { ...kafkaSettings, ...clickhouseSettings },
  {
    KAFKA_BROKERS: ready.kafka_brokers,
    CLICKHOUSE_URL: ready.clickhouse_url,
    CLICKHOUSE_DATABASE: ready.clickhouse_database,
  },
);
const clickhouse = connectClickhouse({ settings, name: 'bench' });
const SUFFIX = 'bench_rebuild';

try {
  const { accountId } = await seedAccount(ready.database_url, 'bench rebuild');
  await fill(accountId);
  await stored(accountId);
  const table = [];
  for (const [projection, source] of [
    ['events', 'raw'],
    ['events', 'normalised'],
    ['profiles', 'raw'],
    ['profiles', 'normalised'],
  ] as const) {
    const { rows, took, cpu, rss } = await rebuild(projection, source);
    table.push({
      what: `${projection} from events.${source}`,
      rows,
      'rows/s': Math.round((rows / took) * 1000),
      'CPU µs a row': Number(((cpu / rows) * 1000).toFixed(2)),
      'rows/s a core of the process': Math.round((rows / cpu) * 1000),
      'peak memory MiB': Math.round(rss / 1024),
    });
  }
  console.table(table);
} finally {
  for (const name of ['events', 'profiles'])
    await clickhouse.command({ query: `DROP TABLE IF EXISTS ${name}_${SUFFIX} SYNC` });
  await clickhouse.close();
}
process.exit(0);

async function fill(accountId: number): Promise<void> {
  const partitions = (await withKafkaAdmin(settings, (admin) => topicEnds(admin, TOPIC.raw)))
    .length;
  const producer = await connectTestProducer(settings);
  const run = Date.now();
  const waiting: SampleEvent[][] = Array.from({ length: partitions }, () => []);
  const pending: Promise<number>[] = [];
  for (let n = 0; n < events; n++) {
    const event = makeEvent(run, n);
    const partition = partitionOf({ accountId, distinctId: event.user_id, partitions });
    const batch = waiting[partition] ?? [];
    batch.push(event);
    if (batch.length < items && n < events - partitions * items) continue;
    const record = sampleRecord(batch.splice(0), {
      account_id: accountId,
      app_id: 1,
      gateway: `bench-${run}`,
      sequence: n * items,
      received_at: run,
    });
    pending.push(
      producer.publish({
        topic: TOPIC.raw,
        partition,
        key: null,
        value: rawRecordCodec.encode({
          ...record,
          items: record.items.map((item) => ({ ...item, timestamp: run })),
        }),
      }),
    );
    if (pending.length >= 500) await Promise.all(pending.splice(0));
  }
  await Promise.all(pending);
  await producer.close(10_000);
}

function makeEvent(run: number, n: number): SampleEvent & { user_id: string } {
  const identify =
    n % 10 === 0
      ? {
          type: 'identify',
          traits: { plan: 'gold', level: n % 50, email: `user-${n % people}@example.ir` },
        }
      : {};
  const properties = {
    product_id: `sku-${n}`,
    title: `کفش ورزشی مردانه ${n}`,
    category: 'Sport',
    price: 1_250_000 + n,
    quantity: 2,
    in_stock: true,
  };
  return {
    type: 'track',
    event: n % 10 === 1 ? 'order_completed' : 'product_viewed',
    user_id: `user-${(n * 7919) % people}`,
    message_id: `${run}-${n}`,
    properties,
    ...identify,
  };
}

async function stored(accountId: number): Promise<void> {
  for (
    const deadline = performance.now() + 600_000;
    performance.now() < deadline;
    await new Promise((resolve) => setTimeout(resolve, 1000))
  ) {
    const query = `SELECT (SELECT count() FROM events WHERE account_id = ${accountId}) AS rows, (SELECT sum(event_count) FROM profiles FINAL WHERE account_id = ${accountId}) AS folded`;
    const [found] = await (
      await clickhouse.query({ query, format: 'JSONEachRow' })
    ).json<{ rows: number; folded: number }>();
    if (Number(found?.rows) >= events && Number(found?.folded) >= events) return;
  }
  throw new Error('the live tables do not have the events within 10 minutes: ./ravand lag');
}

async function rebuild(
  projection: string,
  source: string,
): Promise<{ rows: number; took: number; cpu: number; rss: number }> {
  const table = projection === 'events' ? 'events' : 'profiles';
  await clickhouse.command({ query: `DROP TABLE IF EXISTS ${table}_${SUFFIX} SYNC` });
  const args = [projection, '--into', SUFFIX, '--source', source, '--json'];
  const child = fork(
    join(import.meta.dirname, 'rebuild/rebuild-process.ts'),
    [JSON.stringify(args)],
    {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    },
  );
  let output = '';
  child.stdout?.on('data', (bytes: Buffer) => (output += bytes.toString()));
  const cost = await new Promise<{ code: number; took: number; cpu: number; rss: number }>(
    (resolve, reject) => {
      child.once('message', (message) =>
        resolve(message as { code: number; took: number; cpu: number; rss: number }),
      );
      child.once('exit', (code) =>
        reject(new Error(`the rebuild ended with ${code ?? 'a signal'}: ${output}`)),
      );
    },
  );
  return { ...cost, rows: (JSON.parse(output) as { rows: number }).rows };
}
