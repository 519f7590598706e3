import { Registry } from 'prom-client';
import { startAdminServer } from '../../platform/admin-server.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { startPartitionConsumer } from '../../platform/kafka/consumer.ts';
import { startLifecycle } from '../../platform/lifecycle.ts';
import { createLog } from '../../platform/log.ts';
import { loadConfig } from './config.ts';
import { qualityTask } from './task.ts';

const config = loadConfig(process.env);
const log = createLog({ part: 'quality-sink', level: config.LOG_LEVEL });
const lifecycle = startLifecycle({ log, timeout: config.SHUTDOWN_TIMEOUT });
const registry = new Registry();
const warehouse = connectClickhouse({ settings: config, name: 'ravand-quality-sink' });

const consumer = await startPartitionConsumer({
  settings: config,
  log,
  groupId: 'quality-sink',
  clientId: 'ravand-quality-sink',
  instanceId: config.KAFKA_INSTANCE_ID,
  topic: 'ingest.outcomes',
  batch: { records: 10_000, bytes: 8 * 1024 * 1024, linger: 500 },
  assigned: (_partition, _committed, fenced) =>
    Promise.resolve(
      qualityTask({ warehouse, log, signal: AbortSignal.any([lifecycle.signal, fenced]) }),
    ),
  crash: lifecycle.crash,
  registry,
});
const server = await startAdminServer({
  address: config.ADMIN_ADDR ?? { host: '127.0.0.1', port: 0 },
  registry,
  notReady: () => (consumer.connected() ? [] : ['no Kafka broker answers (KAFKA_BROKERS)']),
});
log.info({ admin: server.address }, 'counting ingest quality');
lifecycle.onShutdown('ClickHouse', () => warehouse.close());
lifecycle.onShutdown('admin port', () => server.close());
lifecycle.onShutdown('consumer', () => consumer.close());
