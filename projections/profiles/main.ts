import { Registry } from 'prom-client';
import { startAdminServer } from '../../platform/admin-server.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { startLifecycle } from '../../platform/lifecycle.ts';
import { createLog } from '../../platform/log.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { startProfiles } from './app.ts';
import { loadConfig } from './config.ts';

const config = loadConfig(process.env);
const log = createLog({ part: 'profiles-sink', level: config.LOG_LEVEL });
const lifecycle = startLifecycle({ log, timeout: config.SHUTDOWN_TIMEOUT });
const registry = new Registry();

const clickhouse = connectClickhouse({
  settings: config,
  name: 'ravand-profiles-sink',
  requestTimeout: 60_000,
  connections: 16,
});
lifecycle.onShutdown('clickhouse', () => clickhouse.close());
const database = connectPostgres({ url: config.DATABASE_URL, log, name: 'ravand-profiles-sink' });
lifecycle.onShutdown('postgres', () => database.end());
const consumer = await startProfiles({
  config,
  log,
  registry,
  clickhouse,
  database,
  crash: (error) => lifecycle.crash(error),
});
lifecycle.onShutdown('consumer', () => consumer.close());
const admin = await startAdminServer({
  address: config.ADMIN_ADDR ?? { host: '127.0.0.1', port: 0 },
  registry,
  notReady: () => (consumer.connected() ? [] : ['no Kafka broker answers (KAFKA_BROKERS)']),
});
lifecycle.onShutdown('admin server', () => admin.close());
log.info({ admin: admin.address }, 'the profiles sink runs');
