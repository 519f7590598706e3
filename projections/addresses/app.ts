import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { startPartitionConsumer, type PartitionConsumer } from '../../platform/kafka/consumer.ts';
import type { AdminPages } from '../../platform/admin-server.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import { GROUP, TOPIC } from '../../schemas/topology.ts';
import type { AddressesConfig } from './config.ts';
import { addressMetrics } from './metrics.ts';
import { advanceVersions } from './advance-versions.ts';
import { watchAnnouncedOptOuts } from './announced-opt-outs.ts';
import { watchBooks } from './watch-books.ts';
import { readCommandTotals } from './books.ts';
import { addressTask } from './task.ts';

/** What `./ravand status` shows of the books of commands. */
function booksPage(database: Pick<Database, 'query'>): AdminPages {
  return {
    '/books': async (query) => {
      const account = query.get('account');
      const totals = await readCommandTotals(
        database,
        account === null ? undefined : Number(account),
      );
      return { contentType: 'application/json', body: JSON.stringify(totals) };
    },
  };
}

export async function start(context: ServiceContext<AddressesConfig>): Promise<void> {
  const { config, log, registry, crash, onShutdown } = context;
  const name = 'ravand-addresses-sink';
  const clickhouse = connectClickhouse({ settings: config, name });
  onShutdown('clickhouse', () => clickhouse.close());
  const database = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name,
  });
  onShutdown('postgres', () => database.end());
  const metrics = addressMetrics(registry);
  const running: { consumer?: PartitionConsumer } = {};
  const admin = await context.openAdminPort({
    pages: booksPage(database),
    notReady: () =>
      running.consumer?.problems() ?? [
        'waits for PostgreSQL and ClickHouse (DATABASE_URL, CLICKHOUSE_URL)',
      ],
  });
  void watchBooks({ database, registry, log, signal: context.signal });
  void watchAnnouncedOptOuts({ database, registry, log, signal: context.signal });
  await advanceVersions({ database, clickhouse, log, signal: context.signal });
  const consumer = await startPartitionConsumer({
    settings: config,
    log,
    registry,
    groupId: GROUP.addresses,
    clientId: name,
    instanceId: config.KAFKA_INSTANCE_ID,
    topic: TOPIC.channelCommands,
    evidence: { database, before: 'process' },
    batch: { records: 2000, bytes: 4 * 1024 * 1024, linger: 50 },
    assigned: (partition, committed, fenced) =>
      addressTask(
        {
          ...{ database, clickhouse, cluster: config.CLICKHOUSE_CLUSTER, log, metrics },
          signal: AbortSignal.any([context.signal, fenced]),
        },
        { partition, committed },
      ),
    crash,
  });
  running.consumer = consumer;
  onShutdown('consumer', () => consumer.close());
  log.info({ admin }, 'the sink of addresses is running');
}
