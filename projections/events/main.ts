import { Registry } from 'prom-client';
import { startAdminServer } from '../../platform/admin-server.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { startLifecycle } from '../../platform/lifecycle.ts';
import { createLog } from '../../platform/log.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { startSink } from './app.ts';
import { loadConfig } from './config.ts';

const config = loadConfig(process.env);
const log = createLog({ part: 'events-sink', level: config.LOG_LEVEL });
const lifecycle = startLifecycle({ log, timeout: config.SHUTDOWN_TIMEOUT });
const registry = new Registry();

const clickhouse = connectClickhouse({
  settings: config,
  name: 'ravand-events-sink',
  requestTimeout: 30_000,
  connections: 16,
});
lifecycle.onShutdown('clickhouse', () => clickhouse.close());
const database = connectPostgres({ url: config.DATABASE_URL, log, name: 'ravand-events-sink' });
lifecycle.onShutdown('postgres', () => database.end());
const sink = await startSink({
  config,
  log,
  registry,
  clickhouse,
  database,
  crash: (error) => lifecycle.crash(error),
});
lifecycle.onShutdown('sink', () => sink.close());
const admin = await startAdminServer({
  address: config.ADMIN_ADDR ?? { host: '127.0.0.1', port: 0 },
  registry,
  notReady: () => [
    ...sink.problems(),
    ...(sink.consumer.connected() ? [] : ['no Kafka broker answers (KAFKA_BROKERS)']),
  ],
});
lifecycle.onShutdown('admin server', () => admin.close());
log.info({ admin: admin.address }, 'the events sink runs');
