import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { startPartitionConsumer } from '../../platform/kafka/consumer.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { metricsOf } from '../../platform/metrics.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import type { CatalogueConfig } from './config.ts';
import { openCatalogueTask } from './task.ts';
import { GROUP, PROJECTIONS, TOPIC } from '../../schemas/topology.ts';

/** `CATALOGUE_INTERVAL` does not grow further with the partitions of a process, ms. */
const MAX_INTERVAL_MS = 20_000;

export async function start(context: ServiceContext<CatalogueConfig>): Promise<void> {
  const { config, log, registry, crash, onShutdown } = context;
  const name = 'ravand-catalogue-sink';
  const client = connectClickhouse({ settings: config, name });
  onShutdown('clickhouse', () => client.close());
  const database = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name,
  });
  onShutdown('postgres', () => database.end());
  const events = metricsOf(registry).counter(
    'ravand_catalogue_events_total',
    'Events read for the catalogue, including redeliveries.',
  );
  const consumer = await startPartitionConsumer({
    settings: config,
    log,
    registry,
    groupId: GROUP.catalogue,
    clientId: name,
    instanceId: config.KAFKA_INSTANCE_ID,
    topic: TOPIC.normalised,
    evidence: { database, before: 'process' },
    valuesUntil: 'processed',
    batch: {
      records: 20_000,
      bytes: 16 * 1024 * 1024,
      linger: 100,
      interval: config.CATALOGUE_INTERVAL,
      isInsert: true,
      maxInterval: MAX_INTERVAL_MS,
    },
    assigned: (partition, committed, signal) =>
      openCatalogueTask({
        client,
        cluster: config.CLICKHOUSE_CLUSTER,
        table: PROJECTIONS.catalogue.table,
        log,
        partition,
        committed,
        signal,
        counted: (rows) => events.inc(rows),
      }),
    crash,
  });
  onShutdown('consumer', () => consumer.close());
  const admin = await context.openAdminPort({
    notReady: () => consumer.problems(),
  });
  log.info({ admin }, 'the catalogue sink is running');
}
