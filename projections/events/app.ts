import type { ClickHouseClient } from '@clickhouse/client';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { startPartitionConsumer, type PartitionConsumer } from '../../platform/kafka/consumer.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import type { SinkConfig } from './config.ts';
import { WINDOW_EVENTS, deadLetterGuard } from './dead-letter-guard.ts';
import { deadLetters } from './dead-letters.ts';
import { sinkMetrics } from './metrics.ts';
import { openPartition } from './task.ts';
import { clickhouseEventsTable } from './events-table.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import { GROUP, TOPIC } from '../../schemas/topology.ts';

interface SinkOptions extends Pick<
  ServiceContext<SinkConfig>,
  'config' | 'log' | 'registry' | 'crash'
> {
  clickhouse: ClickHouseClient;
  database: Database;
  /** Names of the topics and the consumer group; the group is also the key in sink_ranges. */
  names?: { topic: string; deadTopic: string; group: string };
}

export const NAMES = { topic: TOPIC.normalised, deadTopic: TOPIC.dead, group: GROUP.events };

export interface Sink {
  consumer: PartitionConsumer;
  /** Why it stores nothing now, one sentence each. */
  problems(): string[];
  /** Waits a bounded time for running inserts, commits, and leaves the group. */
  close(): Promise<void>;
}

/** Assembles the sink: events.normalised -> ClickHouse `events`, each row once. */
export async function startSink(options: SinkOptions): Promise<Sink> {
  const { config, log, registry, names = NAMES } = options;
  const producer = deadLetters({ settings: config, log, topic: names.deadTopic, now: Date.now });
  const metrics = sinkMetrics(registry);
  const guard = deadLetterGuard({
    limits: {
      minDead: config.DEAD_LETTER_BREAKER_LEAST,
      maxDeadShare: config.DEAD_LETTER_BREAKER / 100,
      windowEvents: WINDOW_EVENTS,
    },
    retryAfter: config.DEAD_LETTER_BREAKER_RETRY,
    onHeld: (partitions) => metrics.held(partitions),
  });
  const deps = {
    database: options.database,
    eventsTable: clickhouseEventsTable({
      client: options.clickhouse,
      cluster: config.CLICKHOUSE_CLUSTER,
    }),
    deadLetters: producer,
    guard,
    metrics,
    log,
    limits: { rows: config.SINK_BATCH_ROWS, bytes: config.SINK_BATCH_BYTES },
    sink: names.group,
    topic: names.topic,
    owner: `${hostname()}/${process.pid}/${randomBytes(4).toString('hex')}`,
    now: Date.now,
  };
  const consumer = await startPartitionConsumer({
    settings: config,
    log,
    registry,
    groupId: names.group,
    clientId: 'ravand-events-sink',
    instanceId: config.KAFKA_INSTANCE_ID,
    topic: names.topic,
    evidence: { database: options.database, before: 'process' },
    valuesUntil: 'committed',
    batch: {
      records: 20_000,
      bytes: config.SINK_BATCH_BYTES,
      linger: LINGER,
      interval: config.SINK_INTERVAL,
      intervalPartitions: INTERVAL_PARTITIONS,
      isInsert: true,
    },
    assigned: (partition, committed, fenced) =>
      openPartition(deps, { partition, committed, fenced }),
    crash: options.crash,
  });
  return {
    consumer,
    problems: () => guard.problems(),
    async close() {
      await consumer.close();
      await producer.close();
    },
  };
}

/** Records that arrive within this time of the first one join its batch, ms. */
const LINGER = 20;
/** Up to so many partitions a process keeps SINK_INTERVAL: ten inserts a second. */
const INTERVAL_PARTITIONS = 8;

/** Starts the clients, the sink and the admin port. */
export async function start(context: ServiceContext<SinkConfig>): Promise<void> {
  const { config, log, registry, crash, onShutdown } = context;
  const name = 'ravand-events-sink';
  const clickhouse = connectClickhouse({
    settings: config,
    name,
    requestTimeout: 30_000,
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
  const sink = await startSink({ config, log, registry, clickhouse, database, crash });
  onShutdown('sink', () => sink.close());
  const admin = await context.openAdminPort({
    notReady: () => [...sink.problems(), ...sink.consumer.problems()],
  });
  log.info({ admin }, 'the events sink runs');
}
