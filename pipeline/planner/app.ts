import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { messageSettingsReader } from '../../messaging/settings/settings-store.ts';
import type { AdminPages } from '../../platform/admin-server.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { killQuery } from '../../platform/clickhouse/kill-on-abort.ts';
import { queryLimits } from '../../platform/clickhouse/query-limits.ts';
import { connectProducer, type LogProducer } from '../../platform/kafka/producer.ts';
import type { Log } from '../../platform/log.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import { RecentSet } from '../../platform/recent-set.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import { messageChunkCodec } from '../../schemas/codec.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { recipientsReader } from './chunks/read-recipients.ts';
import type { SlicePorts } from './chunks/write-slice.ts';
import type { PlannerConfig } from './config.ts';
import { rowsFreezer } from './freeze/freeze-rows.ts';
import { InstanceStore } from './instances/instance-store.ts';
import { plannerMetrics, type PlannerMetrics } from './metrics.ts';
import { Planner } from './planner.ts';
import { RunStore } from './run-store.ts';
import { waitingRuns } from './waiting-runs.ts';

const NAME = 'ravand-planner';
/** A killed process holds its runs so long. */
const LEASE_SECONDS = 15;
const HEARTBEAT_MS = 4000;
/** A slice is 100,000 recipients: some 20 MB, and a fifth of a second. */
const SIZES = { chunk: 500, slice: 200 };
/** Slices that are written at a time. */
const SLICES = 2;
/** A chunk that Kafka does not acknowledge for so long has failed, ms. */
const PUBLISH_MS = 30_000;
const METADATA_MS = 5000;
/** A recurrence that cannot be read is logged again after this time, ms. */
const REPORTED_AGAIN_MS = 3_600_000;
/** How long a shutdown waits for turns, ms; what they lack is done by the next process. */
const DRAIN_MS = 5000;

export async function start(context: ServiceContext<PlannerConfig>): Promise<void> {
  const { config, log, registry, signal, onShutdown } = context;
  const database = connectPostgres({ url: config.DATABASE_URL, log, name: NAME, max: 4 });
  onShutdown('postgres', () => database.end());
  const running: { planner?: Planner } = {};
  const admin = await context.openAdminPort({
    pages: runsPage(database),
    notReady: () => running.planner?.problems() ?? ['waits for Kafka (KAFKA_BROKERS)'],
  });
  const clickhouse = connectFreezes(context);
  const metrics = plannerMetrics(registry);
  const { producer, partitions } = await connectTopic({ config, log, signal });
  onShutdown('producer', () => producer.close(DRAIN_MS));
  const planner = new Planner({
    runs: new RunStore(database, {
      holder: `${NAME}/${randomBytes(9).toString('base64url')}`,
      leaseSeconds: LEASE_SECONDS,
    }),
    instances: {
      store: new InstanceStore(database),
      readSettings: messageSettingsReader({ database, now: () => performance.now() }),
      ...{ log, now: Date.now },
      reported: new RecentSet({ capacity: 1000, keepFor: REPORTED_AGAIN_MS }),
    },
    turns: {
      ...clickhouse,
      findSegment: segmentFinder(database),
      publish: chunkPublisher({ producer, partitions, metrics }),
      sizes: SIZES,
      ...{ heartbeatMs: HEARTBEAT_MS, now: Date.now, random: Math.random },
    },
    ...{ metrics, log, signal },
    measure: async () => metrics.waiting(await waitingRuns(database)),
    concurrency: { freezes: config.PLANNER_FREEZES, slices: SLICES },
  });
  running.planner = planner;
  const ended = planner.run();
  onShutdown('turns', () => Promise.race([ended, wait(DRAIN_MS, undefined, { ref: false })]));
  log.info({ admin }, 'the planner is running');
}

/** What `./ravand status` shows of the runs that wait. */
function runsPage(database: Pick<Database, 'query'>): AdminPages {
  return {
    '/runs': async () => {
      const body = JSON.stringify(await waitingRuns(database));
      return { contentType: 'application/json', body };
    },
  };
}

/** The queries of ClickHouse; KILL QUERY never waits for a socket behind them. */
function connectFreezes({ config, log, onShutdown }: ServiceContext<PlannerConfig>) {
  const timeLimit = config.PLANNER_FREEZE_TIME_LIMIT;
  // A freeze answers when it has ended.
  const requestTimeout = timeLimit + 30_000;
  const freezing = connectClickhouse({
    ...{ settings: config, name: `${NAME}-freeze`, requestTimeout },
    connections: config.PLANNER_FREEZES,
  });
  const reading = connectClickhouse({ settings: config, name: NAME, connections: SLICES + 1 });
  const killing = connectClickhouse({ settings: config, name: `${NAME}-kill`, connections: 2 });
  onShutdown('clickhouse', async () => {
    await Promise.all([freezing, reading, killing].map((client) => client.close()));
  });
  const limits = queryLimits({
    ...{ client: reading, log, percent: config.PLANNER_MEMORY_PERCENT },
    ...{ queries: config.PLANNER_FREEZES, hasOwnUser: false },
  });
  const cluster = config.CLICKHOUSE_CLUSTER;
  const kill = killQuery(killing, log);
  return {
    freezeRows: rowsFreezer({ client: freezing, cluster, limits, kill, timeLimit }),
    readRecipients: recipientsReader({ client: reading, cluster }),
  };
}

async function connectTopic({
  config,
  log,
  signal,
}: {
  config: PlannerConfig;
  log: Log;
  signal: AbortSignal;
}): Promise<{ producer: LogProducer; partitions: number }> {
  const retried = { log, signal, code: 'kafka_unreachable', what: 'connecting to Kafka' };
  return retryUntilAborted(retried, async () => {
    const producer = await connectProducer({
      ...{ settings: config, log, clientId: NAME, timeout: PUBLISH_MS },
      ...{ linger: 5, pollInterval: 2, compression: 'lz4' },
      // Chunks may be appended in any order.
      isGapless: false,
      maxQueued: { records: 10_000, bytes: 256 * 2 ** 20 },
    });
    try {
      return {
        producer,
        partitions: await producer.partitions(TOPIC.messagesPlanned, METADATA_MS),
      };
    } catch (error) {
      await producer.close(0);
      throw error;
    }
  });
}

/** A chunk that is written again goes to the same partition. */
function chunkPublisher({
  producer,
  partitions,
  metrics,
}: {
  producer: LogProducer;
  partitions: number;
  metrics: PlannerMetrics;
}): SlicePorts['publish'] {
  return async (chunk) => {
    await producer.publish({
      topic: TOPIC.messagesPlanned,
      partition: (chunk.run_id + chunk.chunk) % partitions,
      key: null,
      value: messageChunkCodec.encode(chunk),
    });
    metrics.recipientsWritten(chunk.recipients.length);
  };
}

function segmentFinder(database: Pick<Database, 'query'>) {
  return async (accountId: number, id: number): Promise<unknown> => {
    const { rows } = await database.query<{ definition: unknown }>(
      'SELECT definition FROM segments WHERE account_id = $1 AND id = $2',
      [accountId, id],
    );
    return rows[0]?.definition;
  };
}
