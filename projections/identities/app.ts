import type { ClickHouseClient } from '@clickhouse/client';
import { startPartitionConsumer } from '../../platform/kafka/consumer.ts';
import type { PartitionConsumerOptions } from '../../platform/kafka/consumer-types.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { IdentitiesConfig } from './config.ts';
import { publishPeople, advanceRevisions } from './flat-table.ts';
import { identityMetrics } from './metrics.ts';
import { postgresIdentities } from './postgres-store.ts';
import { aliasTask, commandTask, type IdentityDeps } from './task.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import { GROUP, TOPIC } from '../../schemas/topology.ts';

interface IdentitiesOptions extends Pick<
  ServiceContext<IdentitiesConfig>,
  'config' | 'log' | 'registry' | 'signal' | 'crash'
> {
  clickhouse: ClickHouseClient;
  database: Database;
  names?: typeof NAMES;
}

/** `IDENTITIES_INTERVAL` does not grow further with the partitions of a process, ms. */
const MAX_INTERVAL_MS = 1000;

export const NAMES = {
  topic: TOPIC.normalised,
  commands: TOPIC.identityCommands,
  group: GROUP.identities,
  commandGroup: GROUP.identityCommands,
  table: 'identities_flat',
};

export interface Identities {
  /** Why it does not merge, or not of every partition, one sentence each. */
  problems(): string[];
  close(): Promise<void>;
}

/**
 * Assembles the projection: aliases of events.normalised and commands of operators -> people in
 * PostgreSQL and identities_flat in ClickHouse.
 */
export async function startIdentities(options: IdentitiesOptions): Promise<Identities> {
  const { config, log, registry, clickhouse, database, names = NAMES } = options;
  const store = postgresIdentities(database);
  const publish = (accountId: number) =>
    publishPeople(
      { store, client: clickhouse, table: names.table, cluster: config.CLICKHOUSE_CLUSTER },
      accountId,
    );
  const deps = (signal: AbortSignal): IdentityDeps => ({ store, publish, metrics, log, signal });
  const metrics = identityMetrics(registry);
  await publishPending();
  const common: Omit<
    PartitionConsumerOptions,
    'topic' | 'groupId' | 'clientId' | 'assigned' | 'evidence'
  > = {
    settings: config,
    log,
    instanceId: config.KAFKA_INSTANCE_ID,
    batch: {
      records: 20_000,
      bytes: 16 * 1024 * 1024,
      linger: 20,
      interval: config.IDENTITIES_INTERVAL,
      maxInterval: MAX_INTERVAL_MS,
    },
    crash: options.crash,
  };
  const aliases = await startPartitionConsumer({
    ...common,
    registry,
    // Few events merge people.
    evidence: { database, before: 'effects' },
    valuesUntil: 'processed',
    topic: names.topic,
    groupId: names.group,
    clientId: `ravand-${names.group}`,
    assigned: (_partition, _committed, signal) => Promise.resolve(aliasTask(deps(signal))),
  });
  const commands = await startPartitionConsumer({
    ...common,
    evidence: { database, before: 'process' },
    topic: names.commands,
    groupId: names.commandGroup,
    clientId: `ravand-${names.commandGroup}`,
    assigned: (_partition, _committed, signal) => Promise.resolve(commandTask(deps(signal))),
  });
  return {
    problems: () => [...new Set([...aliases.problems(), ...commands.problems()])],
    async close() {
      await Promise.all([aliases.close(), commands.close()]);
    },
  };

  /** Publishes what a killed process left in PostgreSQL only, before later events. */
  async function publishPending(): Promise<void> {
    const { signal } = options;
    await retryUntilAborted(
      { log, signal, code: 'identities_waiting', what: 'writing identities_flat' },
      async () => {
        const advanced = await advanceRevisions({
          client: clickhouse,
          database,
          table: names.table,
        });
        if (advanced.length > 0)
          log.warn(
            { code: 'identities_went_back', accounts: advanced.length },
            'PostgreSQL holds older identities than ClickHouse: ./ravand rebuild identities --swap restores them from the log',
          );
        for (const accountId of await store.unpublishedAccounts()) await publish(accountId);
      },
    );
  }
}

/** Starts the admin port, the clients and the consumers. */
export async function start(context: ServiceContext<IdentitiesConfig>): Promise<void> {
  const { config, log, registry, signal, crash, onShutdown } = context;
  const name = 'ravand-identities-sink';
  const running: { identities?: Identities } = {};
  const admin = await context.openAdminPort({
    notReady() {
      const { identities } = running;
      if (!identities)
        return ['waits for PostgreSQL and ClickHouse (DATABASE_URL, CLICKHOUSE_URL)'];
      return identities.problems();
    },
  });
  const clickhouse = connectClickhouse({ settings: config, name });
  onShutdown('clickhouse', () => clickhouse.close());
  const database = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name,
  });
  onShutdown('postgres', () => database.end());
  const identities = await startIdentities({
    ...{ config, log, registry, clickhouse, database, signal, crash },
  });
  running.identities = identities;
  onShutdown('consumers', () => identities.close());
  log.info({ admin }, 'the identities sink runs');
}
