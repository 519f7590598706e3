import { Registry } from 'prom-client';
import { startAdminServer } from '../../platform/admin-server.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { startLifecycle } from '../../platform/lifecycle.ts';
import { createLog } from '../../platform/log.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { startRetention } from './app.ts';
import { loadConfig } from './config.ts';

const config = loadConfig(process.env);
const log = createLog({ part: 'retention', level: config.LOG_LEVEL });
const lifecycle = startLifecycle({ log, timeout: config.SHUTDOWN_TIMEOUT });
const registry = new Registry();

const clickhouse = connectClickhouse({
  settings: config,
  name: 'ravand-retention',
  requestTimeout: 620_000,
});
lifecycle.onShutdown('clickhouse', () => clickhouse.close());
const database = connectPostgres({ url: config.DATABASE_URL, log, name: 'ravand-retention' });
lifecycle.onShutdown('postgres', () => database.end());
const retention = startRetention({
  config,
  log,
  registry,
  clickhouse,
  database,
  signal: lifecycle.signal,
});
lifecycle.onShutdown('the step under way', () =>
  Promise.race([
    retention.closed,
    new Promise<void>((resolve) => setTimeout(resolve, 5000).unref()),
  ]),
);
const admin = await startAdminServer({
  address: config.ADMIN_ADDR ?? { host: '127.0.0.1', port: 0 },
  registry,
  notReady: () => [],
});
lifecycle.onShutdown('admin server', () => admin.close());
log.info({ admin: admin.address }, 'retention runs');
