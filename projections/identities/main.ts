import { Registry } from 'prom-client';
import { startAdminServer } from '../../platform/admin-server.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { startLifecycle } from '../../platform/lifecycle.ts';
import { createLog } from '../../platform/log.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { startIdentities, type Identities } from './app.ts';
import { loadConfig } from './config.ts';

const config = loadConfig(process.env);
const log = createLog({ part: 'identities-sink', level: config.LOG_LEVEL });
const lifecycle = startLifecycle({ log, timeout: config.SHUTDOWN_TIMEOUT });
const registry = new Registry();
const started: { identities?: Identities } = {};

const admin = await startAdminServer({
  address: config.ADMIN_ADDR ?? { host: '127.0.0.1', port: 0 },
  registry,
  notReady() {
    const { identities } = started;
    if (!identities) return ['waits for PostgreSQL and ClickHouse (DATABASE_URL, CLICKHOUSE_URL)'];
    return identities.connected() ? [] : ['no Kafka broker answers (KAFKA_BROKERS)'];
  },
});
lifecycle.onShutdown('admin server', () => admin.close());
const clickhouse = connectClickhouse({ settings: config, name: 'ravand-identities-sink' });
lifecycle.onShutdown('clickhouse', () => clickhouse.close());
const database = connectPostgres({ url: config.DATABASE_URL, log, name: 'ravand-identities-sink' });
lifecycle.onShutdown('postgres', () => database.end());
started.identities = await startIdentities({
  config,
  log,
  registry,
  clickhouse,
  database,
  signal: lifecycle.signal,
  crash: (error) => lifecycle.crash(error),
});
lifecycle.onShutdown('consumers', async () => started.identities?.close());
log.info({ admin: admin.address }, 'the identities sink runs');
