import { delay } from '../../platform/backoff.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { startPartitionConsumer } from '../../platform/kafka/consumer.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import { GROUP, TOPIC } from '../../schemas/topology.ts';
import type { MessagesConfig } from './config.ts';
import { copyLateOpens } from './copy-late-opens.ts';
import { messageMetrics } from './metrics.ts';
import { messagesTask } from './task.ts';

/** Between two looks for opens that are no events. */
const LATE_OPENS_MS = 5000;

type Context = Pick<ServiceContext<MessagesConfig>, 'log' | 'signal'>;

/** Copies late opens until the signal aborts; after a failure, later. */
async function followLateOpens(
  { log, signal }: Context,
  stores: Parameters<typeof copyLateOpens>[0],
): Promise<void> {
  const what = 'copying opens of messages';
  while (!signal.aborted) {
    await retryUntilAborted({ log, signal, code: 'opens_waiting', what }, () =>
      copyLateOpens(stores),
    ).catch(() => undefined);
    await delay(LATE_OPENS_MS, signal).catch(() => undefined);
  }
}

/**
 * Between two inserts of a partition, ms: each is synced, and is a part that merges write again.
 * The first outcomes after a pause do not wait.
 */
const INTERVAL_MS = 3000;

export async function start(context: ServiceContext<MessagesConfig>): Promise<void> {
  const { config, log, registry, crash, onShutdown } = context;
  const name = 'ravand-messages-sink';
  const clickhouse = connectClickhouse({ settings: config, name });
  onShutdown('clickhouse', () => clickhouse.close());
  const database = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name,
  });
  onShutdown('postgres', () => database.end());
  const metrics = messageMetrics(registry);
  const cluster = config.CLICKHOUSE_CLUSTER;
  const consumer = await startPartitionConsumer({
    settings: config,
    log,
    registry,
    groupId: GROUP.messages,
    clientId: name,
    instanceId: config.KAFKA_INSTANCE_ID,
    topic: TOPIC.messagesOutcomes,
    evidence: { database, before: 'process' },
    batch: {
      ...{ records: 10_000, bytes: 8 * 1024 * 1024, linger: 100, interval: INTERVAL_MS },
      isInsert: true,
    },
    assigned: (partition, _committed, fenced) =>
      messagesTask(
        {
          ...{ clickhouse, database, cluster, log, metrics },
          signal: AbortSignal.any([context.signal, fenced]),
        },
        partition,
      ),
    crash,
  });
  const following = followLateOpens(context, { database, clickhouse, cluster });
  onShutdown('late opens', () => following);
  const admin = await context.openAdminPort({ notReady: () => consumer.problems() });
  onShutdown('consumer', () => consumer.close());
  log.info({ admin }, 'the sink of messages is running');
}
