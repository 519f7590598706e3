import { Counter, Registry } from 'prom-client';
import { startAdminServer } from '../../platform/admin-server.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { startPartitionConsumer } from '../../platform/kafka/consumer.ts';
import { startLifecycle } from '../../platform/lifecycle.ts';
import { createLog } from '../../platform/log.ts';
import { loadConfig } from './config.ts';
import { openCatalogue } from './task.ts';

const config = loadConfig(process.env);
const log = createLog({ part: 'catalogue-sink', level: config.LOG_LEVEL });
const lifecycle = startLifecycle({ log, timeout: config.SHUTDOWN_TIMEOUT });
const registry = new Registry();
const client = connectClickhouse({ settings: config, name: 'ravand-catalogue-sink' });
lifecycle.onShutdown('clickhouse', () => client.close());
const events = new Counter({
  name: 'ravand_catalogue_events_total',
  help: 'Events looked at for the catalogue, repeats included.',
  registers: [registry],
});

const consumer = await startPartitionConsumer({
  settings: config,
  log,
  registry,
  groupId: 'catalogue-sink',
  clientId: 'ravand-catalogue-sink',
  instanceId: config.KAFKA_INSTANCE_ID,
  topic: 'events.normalised',
  batch: {
    records: 20_000,
    bytes: 16 * 1024 * 1024,
    linger: 100,
    interval: config.CATALOGUE_INTERVAL,
  },
  assigned: (partition, _committed, signal) =>
    openCatalogue({
      client,
      cluster: config.CLICKHOUSE_CLUSTER,
      table: 'event_catalogue',
      log,
      partition,
      signal,
      counted: (rows) => events.inc(rows),
    }),
  crash: (error) => lifecycle.crash(error),
});
lifecycle.onShutdown('consumer', () => consumer.close());
const admin = await startAdminServer({
  address: config.ADMIN_ADDR ?? { host: '127.0.0.1', port: 0 },
  registry,
  notReady: () => (consumer.connected() ? [] : ['no Kafka broker answers (KAFKA_BROKERS)']),
});
lifecycle.onShutdown('admin server', () => admin.close());
log.info({ admin: admin.address }, 'the catalogue sink runs');
