/**
 * node bench/sink.ts [--rows 1000000] [--run 500]
 * Rows per second and CPU of the sink's process when it catches up on a full topic, beside a plain
 * `client.insert` of the same rows as JSONEachRow. Finds the servers by KAFKA_BROKERS,
 * CLICKHOUSE_URL and DATABASE_URL; uses a temporary topic and database.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { connectClickhouse } from '../platform/clickhouse/client.ts';
import { migrateClickhouse } from '../platform/clickhouse/migrate.ts';
import { withKafkaAdmin } from '../platform/kafka/admin.ts';
import { clickhouseSettings, kafkaSettings } from '../platform/settings-common.ts';
import { parseSettings } from '../platform/settings.ts';
import { ddlFolders } from '../projections/ddl-folders.ts';
import { eventRowCodec } from '../schemas/codec.ts';
import { joinRowBatch } from '../schemas/row-batch.ts';
import { NEWEST_ROW_VERSION } from '../schemas/row-versions.ts';
import { sampleRow } from './sink/rows.ts';
import { connectTestProducer } from '../test/support/producer.ts';
import { numericOptions } from './numbers.ts';

const { rows, run } = numericOptions('sink', { rows: 1_000_000, run: 500 });
const PARTITIONS = 4;
const name = `bench_sink_${randomBytes(4).toString('hex')}`;
const settings = parseSettings(
  { ...kafkaSettings, ...clickhouseSettings },
  { ...process.env, CLICKHOUSE_DATABASE: name },
);
const env = {
  ...process.env,
  CLICKHOUSE_DATABASE: name,
  SINK_INTERVAL: process.env['SINK_INTERVAL'] ?? '',
};

await withKafkaAdmin(settings, (admin) =>
  admin.createTopics({
    waitForLeaders: true,
    topics: [{ topic: name, numPartitions: PARTITIONS, replicationFactor: 1 }],
  }),
);
await migrateClickhouse(settings, ddlFolders());
const clickhouse = connectClickhouse({ settings, name: 'bench' });
try {
  await clickhouse.command({ query: 'CREATE TABLE events_plain AS events' });
  await fill();
  const sink = await measureSink();
  const plain = await measurePlain();
  const stored = await (
    await clickhouse.query({
      query: 'SELECT count() AS rows, uniqExact(_partition, _offset, _index) AS places FROM events',
      format: 'JSONEachRow',
    })
  ).json();
  const line = (what: string, r: { rows: number; took: number; cpu: number }) => ({
    what,
    'rows/s': Math.round((r.rows / r.took) * 1000),
    'CPU ms per 1,000 rows': Number(((r.cpu / r.rows) * 1000).toFixed(2)),
    'rows/s a core of the process': Math.round((r.rows / r.cpu) * 1000),
  });
  console.table([
    line('sink (Kafka -> ClickHouse, exactly once)', sink),
    line('plain client.insert, JSONEachRow', plain),
  ]);
  console.log(JSON.stringify({ stored, sink, plain }));
} finally {
  await clickhouse.command({ query: `DROP DATABASE ${name}` });
  await clickhouse.close();
  await withKafkaAdmin(settings, (admin) => admin.deleteTopics({ topics: [name] }));
}

async function fill(): Promise<void> {
  const producer = await connectTestProducer(settings);
  const now = Date.now();
  const pending: Promise<number>[] = [];
  for (let n = 0; n * run < rows; n++) {
    const [partition, offset] = [n % PARTITIONS, Math.floor(n / PARTITIONS)];
    const datums = Array.from({ length: run }, (_, index) =>
      eventRowCodec.type.toBuffer(sampleRow({ partition, offset, index, now })),
    );
    const head = {
      epoch: 0,
      partition,
      first_offset: offset,
      first_index: 0,
      last_offset: offset,
      last_index: run - 1,
      appended_at: now,
    };
    pending.push(
      producer.publish({
        topic: name,
        partition,
        key: null,
        value: joinRowBatch({
          ...{ version: NEWEST_ROW_VERSION, head },
          ...{ count: run, rows: Buffer.concat(datums) },
        }),
      }),
    );
    if (pending.length >= 200) await Promise.all(pending.splice(0));
  }
  await Promise.all(pending);
  await producer.close(5000);
}

async function measureSink(): Promise<{ rows: number; took: number; cpu: number }> {
  const child = fork(
    join(import.meta.dirname, '../test/integration/sink/sink-process.ts'),
    [name, name],
    { env },
  );
  const expected = Math.ceil(rows / run) * run;
  let first: { at: number; rows: number; cpu: number } | undefined;
  for (const deadline = performance.now() + 300_000; performance.now() < deadline;) {
    const report = await ask(child);
    if (!first && report.rows > 0) first = { at: performance.now(), ...report };
    if (first && report.rows >= expected) {
      const took = performance.now() - first.at;
      await stop(child);
      return { rows: report.rows - first.rows, took, cpu: report.cpu - first.cpu };
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  child.kill();
  throw new Error('the sink did not finish within 5 minutes');
}

async function ask(child: ChildProcess): Promise<{ rows: number; cpu: number }> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as { rows: number; cpu: number }));
    child.once('exit', () => reject(new Error('the sink ended')));
    child.send('report', (error) => {
      if (error) reject(error);
    });
    child.setMaxListeners(0);
  });
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.send('stop');
  await ended;
}

async function measurePlain(): Promise<{ rows: number; took: number; cpu: number }> {
  const child = fork(
    join(import.meta.dirname, 'sink/plain-process.ts'),
    [String(Math.min(rows, 400_000)), '20000', String(PARTITIONS)],
    { env },
  );
  return new Promise((resolve, reject) => {
    child.once('message', (message) =>
      resolve(message as { rows: number; took: number; cpu: number }),
    );
    child.once('exit', (code) =>
      reject(new Error(`the plain inserter ended with ${code ?? 'a signal'}`)),
    );
  });
}
