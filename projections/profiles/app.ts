import type { ClickHouseClient } from '@clickhouse/client';
import { startPartitionConsumer, type PartitionConsumer } from '../../platform/kafka/consumer.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import { ProfileCache } from './cache.ts';
import { checkNightly } from './check/nightly.ts';
import type { ProfilesConfig } from './config.ts';
import { profileMetrics } from './metrics.ts';
import { coalescingStore } from './coalescing-store.ts';
import { clickhouseProfiles } from './store.ts';
import { foldTask } from './task.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import { GROUP, PROJECTIONS, TOPIC } from '../../schemas/topology.ts';

interface ProfilesOptions extends Pick<
  ServiceContext<ProfilesConfig>,
  'config' | 'log' | 'registry' | 'crash'
> {
  clickhouse: ClickHouseClient;
  /** Holds the evidence of processed records. */
  database: Database;
  /** Names of the topic, the consumer group and the table. */
  names?: { topic: string; group: string; table: string };
}

/** `PROFILES_INTERVAL` does not grow further with the partitions of a process, ms. */
const MAX_INTERVAL_MS = 10_000;

export const NAMES = {
  topic: TOPIC.normalised,
  group: GROUP.profiles,
  table: PROJECTIONS.profiles.table,
};

/** events.normalised -> ClickHouse `profiles`: one row per distinct id, the fold of its events. */
export async function startProfiles(options: ProfilesOptions): Promise<PartitionConsumer> {
  const { config, log, registry, names = NAMES } = options;
  const caches = new Set<ProfileCache>();
  const sum = (of: (cache: ProfileCache) => number) =>
    [...caches].reduce((total, cache) => total + of(cache), 0);
  const metrics = profileMetrics(registry, () => ({
    people: sum(({ size }) => size),
    bytes: sum(({ bytes }) => bytes),
  }));
  const store = coalescingStore(
    clickhouseProfiles({
      client: options.clickhouse,
      cluster: config.CLICKHOUSE_CLUSTER,
      table: names.table,
      maxLoadBytes: config.PROFILES_LOAD_BYTES,
    }),
  );
  return startPartitionConsumer({
    settings: config,
    log,
    registry,
    groupId: names.group,
    clientId: `ravand-${names.group}`,
    instanceId: config.KAFKA_INSTANCE_ID,
    topic: names.topic,
    evidence: { database: options.database, before: 'process' },
    valuesUntil: 'processed',
    batch: {
      records: 20_000,
      bytes: config.PROFILES_BATCH_BYTES,
      linger: LINGER,
      interval: config.PROFILES_INTERVAL,
      isInsert: true,
      maxInterval: MAX_INTERVAL_MS,
    },
    assigned(partition, committed, signal) {
      const cache = new ProfileCache(() => config.PROFILES_CACHE_BYTES / Math.max(1, caches.size));
      caches.add(cache);
      log.info({ topic: names.topic, partition, committed }, 'folding a partition');
      const onRelease = () => {
        cache.clear();
        caches.delete(cache);
      };
      const task = foldTask({
        ...{ store, cache, metrics, log, signal, onRelease },
        foldEvents: config.PROFILES_FOLD_EVENTS,
      });
      return Promise.resolve(task);
    },
    crash: options.crash,
  });
}

/** Records that arrive within this time of the first one join its batch, ms. */
const LINGER = 20;

/** The service: its clients, the consumer and the admin port. */
export async function start(context: ServiceContext<ProfilesConfig>): Promise<void> {
  const { config, log, registry, crash, onShutdown } = context;
  const name = 'ravand-profiles-sink';
  const clickhouse = connectClickhouse({
    settings: config,
    name,
    requestTimeout: 60_000,
    connections: 16,
  });
  onShutdown('clickhouse', () => clickhouse.close());
  const database = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name,
  });
  onShutdown('postgres', () => database.end());
  const consumer = await startProfiles({ config, log, registry, clickhouse, database, crash });
  onShutdown('consumer', () => consumer.close());
  const check = checkNightly({
    ...{ client: clickhouse, cluster: config.CLICKHOUSE_CLUSTER, database, settings: config },
    ...{ log, registry, hour: config.PROFILES_CHECK_HOUR, signal: context.signal },
  });
  onShutdown('check', () => check);
  const admin = await context.openAdminPort({
    notReady: () => consumer.problems(),
  });
  log.info({ admin }, 'the profiles sink runs');
}
