/**
 * node bench/normaliser.ts [--events 400000] [--items 1,10,100] [--batch 1] Rows per second and CPU
 * of the normaliser's process when it catches up on raw records of 1, 10 and 100 events, as many of
 * them in a raw batch (1: none) as --batch says, claims included, beside a loop of plain JSON.parse
 * over the same bodies. Finds the servers by KAFKA_BROKERS, REDIS_URL and CLICKHOUSE_URL; uses
 * temporary topics, claims and a database.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { parseLine } from '../cli/arguments.ts';
import { Redis } from 'ioredis';
import { settings as normaliserSettings, type Names } from '../pipeline/normalise/config.ts';
import { parseSettings } from '../platform/settings.ts';
import { ddlFolders } from '../projections/ddl-folders.ts';
import { sampleRecord } from '../events/testing/raw-records.ts';
import { connectClickhouse } from '../platform/clickhouse/client.ts';
import { migrateClickhouse } from '../platform/clickhouse/migrate.ts';
import { withKafkaAdmin } from '../platform/kafka/admin.ts';
import { rawRecordCodec } from '../schemas/codec.ts';
import { encodeRawBatch } from '../schemas/raw-batch.ts';
import { connectTestProducer } from '../test/support/producer.ts';
import { numberOf, numbersOf } from './numbers.ts';

const { values } = parseLine({
  args: process.argv.slice(2),
  usage: 'bench normaliser -- [--events N] [--items N] [--batch N]',
  options: {
    events: { type: 'string', default: '400000' },
    items: { type: 'string', default: '1,10,100' },
    batch: { type: 'string', default: '1' },
  },
});
const PARTITIONS = 4;

interface Measured {
  rows: number;
  took: number;
  cpu: number;
}

const [events, perBatch] = [numberOf(values, 'events'), numberOf(values, 'batch')];
const table = [];
for (const items of numbersOf(values, 'items')) {
  const { normaliser, parse } = await measure(events, items);
  table.push(
    line(`normaliser, ${items} ${items === 1 ? 'event' : 'events'} per record`, normaliser),
  );
  table.push(line('  JSON.parse of the same bodies', parse));
}
console.table(table);
process.exit(0);

function line(what: string, { rows, took, cpu }: Measured) {
  return {
    what,
    'rows/s': Math.round((rows / took) * 1000),
    'CPU ms per 1,000 rows': Number(((cpu / rows) * 1000).toFixed(2)),
    'rows/s a core of the process': Math.round((rows / cpu) * 1000),
  };
}

async function measure(
  events: number,
  items: number,
): Promise<{ normaliser: Measured; parse: Measured }> {
  const run = `bench_normaliser_${randomBytes(4).toString('hex')}`;
  const config = parseSettings(normaliserSettings, { ...process.env, CLICKHOUSE_DATABASE: run });
  const topic = (what: string) => `${run}.${what}`;
  const names: Names = {
    ...{
      raw: topic('raw'),
      normalised: topic('normalised'),
      verdicts: topic('verdicts'),
      dead: topic('dead'),
    },
    ...{ group: run, sinkGroup: `${run}.sink`, claims: `{${run}}:` },
  };
  const topics = [names.raw, names.normalised, names.verdicts, names.dead];
  await withKafkaAdmin(config, (admin) =>
    admin.createTopics({
      waitForLeaders: true,
      topics: topics.map((one) => ({
        topic: one,
        numPartitions: PARTITIONS,
        replicationFactor: 1,
      })),
    }),
  );
  await migrateClickhouse(config, ddlFolders());
  try {
    const bodies = await fill(names.raw, { events, items });
    const normaliser = await measureNormaliser(names, { events, database: run });
    return { normaliser, parse: measureParse(bodies, items) };
  } finally {
    await withKafkaAdmin(config, (admin) => admin.deleteTopics({ topics }));
    const clickhouse = connectClickhouse({ settings: config, name: 'bench' });
    await clickhouse.command({ query: `DROP DATABASE ${run}` });
    await clickhouse.close();
    await dropClaims(config.REDIS_URL, names.claims);
  }
}

/** Fills the topic; answers the bodies of its records, at most 50 MiB. */
async function fill(
  topic: string,
  { events, items }: { events: number; items: number },
): Promise<Buffer[]> {
  const producer = await connectTestProducer(parseSettings(normaliserSettings, process.env));
  const bodies: Buffer[] = [];
  const pending: Promise<number>[] = [];
  const now = Date.now();
  const open = Array.from({ length: PARTITIONS }, (): Buffer[] => []);
  const send = (partition: number) => {
    const records = open[partition]?.splice(0) ?? [];
    const [only] = records;
    if (!only) return;
    const value =
      records.length === 1 ? only : encodeRawBatch(records.map((one) => ({ items, value: one })));
    pending.push(producer.publish({ topic, partition, key: null, value }));
  };
  for (let n = 0, bytes = 0; n * items < events; n++) {
    const first = n * items;
    const batch = Array.from({ length: items }, (_, at) => productViewed(first + at));
    const record = sampleRecord(batch, { sequence: first, received_at: now });
    bytes += record.body.length;
    if (bytes < 50 * 2 ** 20) bodies.push(record.body);
    const partition = n % PARTITIONS;
    if (open[partition]?.push(rawRecordCodec.encode(record)) === perBatch) send(partition);
    if (pending.length >= 2000) await Promise.all(pending.splice(0));
  }
  for (let partition = 0; partition < PARTITIONS; partition++) send(partition);
  await Promise.all(pending);
  await producer.close(5000);
  return bodies;
}

function productViewed(n: number) {
  return {
    type: 'track',
    event: 'product_viewed',
    user_id: `user-${n % 5000}-7f3a`,
    message_id: `0192f3c1-77aa-7c3e-9d52-${String(n).padStart(12, '0')}`,
    timestamp: '2026-11-21T10:00:00.000Z',
    properties: {
      product_id: `sku-${n}`,
      title: `کفش ورزشی مردانه ${n}`,
      category: 'Sport and outdoor',
      price: 1_250_000 + n,
      quantity: 2,
      in_stock: true,
    },
  };
}

/** Measures from the first tenth of the rows, when the code is warm, to the last. */
async function measureNormaliser(
  names: Names,
  { events, database }: { events: number; database: string },
): Promise<Measured> {
  const env = { ...process.env, CLICKHOUSE_DATABASE: database };
  const child = fork(
    join(import.meta.dirname, 'normaliser/normaliser-process.ts'),
    [JSON.stringify(names)],
    { env },
  );
  let first: { at: number; rows: number; cpu: number } | undefined;
  try {
    for (const deadline = performance.now() + 300_000; performance.now() < deadline;) {
      const report = await ask(child);
      if (!first && report.rows >= events / 10) first = { at: performance.now(), ...report };
      if (first && report.rows >= events)
        return {
          rows: report.rows - first.rows,
          took: performance.now() - first.at,
          cpu: report.cpu - first.cpu,
        };
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error('the normaliser did not finish within 5 minutes');
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.connected) child.send('stop');
    await ended;
  }
}

function ask(child: ChildProcess): Promise<{ rows: number; cpu: number }> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('the normaliser ended'));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.removeListener('exit', ended);
      resolve(message as { rows: number; cpu: number });
    });
    child.send('report', (error) => {
      if (error) reject(error);
    });
  });
}

function measureParse(bodies: readonly Buffer[], items: number): Measured {
  let parsed = 0;
  const round = () => {
    for (const body of bodies)
      parsed += Object.keys(JSON.parse(body.toString('utf8')) as object).length > 0 ? items : 0;
  };
  round();
  parsed = 0;
  const [began, before] = [performance.now(), process.cpuUsage()];
  for (const deadline = began + 2000; performance.now() < deadline;) round();
  const { user, system } = process.cpuUsage(before);
  return { rows: parsed, took: performance.now() - began, cpu: (user + system) / 1000 };
}

async function dropClaims(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url);
  for await (const keys of redis.scanBufferStream({
    match: `${prefix}*`,
    count: 1000,
  }) as AsyncIterable<Buffer[]>) {
    if (keys.length > 0) await redis.unlink(...keys);
  }
  redis.disconnect();
}
