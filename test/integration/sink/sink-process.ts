/**
 * A sink of its own in a process of its own: started by tests and bench/sink.ts, which read its
 * counters and its CPU time over IPC.
 */
import { Registry } from 'prom-client';
import { connectClickhouse } from '../../../platform/clickhouse/client.ts';
import { createLog } from '../../../platform/log.ts';
import { connectPostgres } from '../../../platform/postgres/pool.ts';
import { startSink } from '../../../projections/events/app.ts';
import { settings } from '../../../projections/events/config.ts';
import { parseSettings } from '../../../platform/settings.ts';

const [topic = '', group = '', deadTopic = 'events.dead'] = process.argv.slice(2);
const config = parseSettings(settings, process.env);
const log = createLog({ part: 'sink-under-test', level: 'warn' });
const registry = new Registry();
const crash = (error: unknown): never => {
  console.error(error);
  process.exit(1);
};
const sink = await startSink({
  config,
  log,
  registry,
  clickhouse: connectClickhouse({ settings: config, name: 'sink-under-test', connections: 16 }),
  database: connectPostgres({ url: config.DATABASE_URL, log, name: 'sink-under-test' }),
  names: { topic, deadTopic, group },
  crash,
});

process.on('message', (message) => {
  if (message === 'report') void report();
  if (message === 'stop') {
    sink.close().then(() => process.exit(0), crash);
  }
});

async function report(): Promise<void> {
  const counter = registry.getSingleMetric('ravand_sink_rows_total');
  const rows = (await counter?.get())?.values[0]?.value ?? 0;
  const { user, system } = process.cpuUsage();
  process.send?.({
    rows,
    cpu: (user + system) / 1000,
    partitions: sink.consumer.partitions().length,
  });
}
