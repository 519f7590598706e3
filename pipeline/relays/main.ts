import { Registry } from 'prom-client';
import { startAdminServer } from '../../platform/admin-server.ts';
import { startLifecycle } from '../../platform/lifecycle.ts';
import { createLog } from '../../platform/log.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { startRelays, type Relays } from './app.ts';
import { loadConfig } from './config.ts';

const config = loadConfig(process.env);
const log = createLog({ part: 'relays', level: config.LOG_LEVEL });
const lifecycle = startLifecycle({ log, timeout: config.SHUTDOWN_TIMEOUT });
const registry = new Registry();
const started: { relays?: Relays } = {};

const admin = await startAdminServer({
  address: config.ADMIN_ADDR ?? { host: '127.0.0.1', port: 0 },
  registry,
  notReady() {
    const { relays } = started;
    if (!relays) return ['waits for PostgreSQL (DATABASE_URL)'];
    return relays.connected() ? [] : ['no Kafka broker answers (KAFKA_BROKERS)'];
  },
});
lifecycle.onShutdown('admin server', () => admin.close());
const database = connectPostgres({ url: config.DATABASE_URL, log, name: 'ravand-relays', max: 4 });
lifecycle.onShutdown('postgres', () => database.end());
started.relays = await startRelays({
  config,
  log,
  registry,
  database,
  signal: lifecycle.signal,
  crash: (error) => lifecycle.crash(error),
});
lifecycle.onShutdown('relays', async () => started.relays?.close());
log.info({ admin: admin.address }, 'relays are delivered');
