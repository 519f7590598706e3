import type { Admin } from 'kafkajs';
import kafkajs from 'kafkajs';
import { Registry } from 'prom-client';
import { startAdminServer } from '../../platform/admin-server.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { kafkajsConnection } from '../../platform/kafka/connection.ts';
import { startLifecycle } from '../../platform/lifecycle.ts';
import { createLog } from '../../platform/log.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { startMetering } from './app.ts';
import { loadConfig } from './config.ts';

const config = loadConfig(process.env);
const log = createLog({ part: 'metering', level: config.LOG_LEVEL });
const lifecycle = startLifecycle({ log, timeout: config.SHUTDOWN_TIMEOUT });
const registry = new Registry();

const database = connectPostgres({
  url: config.DATABASE_URL,
  log,
  name: 'ravand-metering',
  max: 3,
});
const warehouse = connectClickhouse({ settings: config, name: 'ravand-metering' });
let admin: Promise<Admin> | undefined;
const connectedAdmin = () => {
  admin ??= (async () => {
    const client = new kafkajs.Kafka(kafkajsConnection(config, 'ravand-metering')).admin();
    client.on('admin.disconnect', () => (admin = undefined));
    await client.connect();
    return client;
  })().catch((error: unknown) => {
    admin = undefined;
    throw error;
  });
  return admin;
};

const metering = await startMetering({
  config,
  log,
  database,
  warehouse,
  admin: connectedAdmin,
  registry,
  signal: lifecycle.signal,
  crash: lifecycle.crash,
});
const server = await startAdminServer({
  address: config.ADMIN_ADDR ?? { host: '127.0.0.1', port: 0 },
  registry,
  notReady: metering.notReady,
  pages: metering.pages,
});
log.info({ admin: server.address }, 'counting');
lifecycle.onShutdown('connections', async () => {
  await Promise.allSettled([
    database.end(),
    warehouse.close(),
    admin?.then((client) => client.disconnect()),
  ]);
});
lifecycle.onShutdown('admin port', () => server.close());
lifecycle.onShutdown('counting', () => metering.close());
