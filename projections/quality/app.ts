import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { startPartitionConsumer } from '../../platform/kafka/consumer.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import type { QualityConfig } from './config.ts';
import { qualityTask } from './task.ts';
import { GROUP, TOPIC } from '../../schemas/topology.ts';

export async function start(context: ServiceContext<QualityConfig>): Promise<void> {
  const { config, log, registry, crash, onShutdown } = context;
  const name = 'ravand-quality-sink';
  const clickhouse = connectClickhouse({ settings: config, name });
  onShutdown('clickhouse', () => clickhouse.close());
  const database = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name,
  });
  onShutdown('postgres', () => database.end());
  const consumer = await startPartitionConsumer({
    settings: config,
    log,
    registry,
    groupId: GROUP.quality,
    clientId: name,
    instanceId: config.KAFKA_INSTANCE_ID,
    topic: TOPIC.outcomes,
    evidence: { database, before: 'process' },
    valuesUntil: 'processed',
    batch: { records: 10_000, bytes: 8 * 1024 * 1024, linger: 500 },
    assigned: (_partition, _committed, fenced) =>
      Promise.resolve(
        qualityTask({ clickhouse, log, signal: AbortSignal.any([context.signal, fenced]) }),
      ),
    crash,
  });
  const admin = await context.openAdminPort({
    notReady: () => consumer.problems(),
  });
  onShutdown('consumer', () => consumer.close());
  log.info({ admin }, 'the quality sink is running');
}
