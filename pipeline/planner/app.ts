import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { writerHold } from '../../ingest/writer-hold.ts';
import { messageSettingsReader } from '../../messaging/settings/settings-store.ts';
import type { AdminPages } from '../../platform/admin-server.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { killQuery } from '../../platform/clickhouse/kill-on-abort.ts';
import { queryLimits } from '../../platform/clickhouse/query-limits.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import { RecentSet } from '../../platform/recent-set.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { connectChunks } from './chunks/publish-chunks.ts';
import { recipientsReader } from './chunks/read-recipients.ts';
import type { PlannerConfig } from './config.ts';
import { rowsFreezer } from './freeze/freeze-rows.ts';
import { InstanceStore } from './instances/instance-store.ts';
import { plannerMetrics } from './metrics.ts';
import { Planner } from './planner.ts';
import { SLICE_SIZES } from './run.ts';
import { RunStore } from './run-store.ts';
import { waitingRuns } from './waiting-runs.ts';

const NAME = 'ravand-planner';
/** A killed process holds its runs so long. */
const LEASE_SECONDS = 15;
const HEARTBEAT_MS = 4000;
/** Slices that are written at a time. */
const SLICES = 2;
/** A recurrence that cannot be read is logged again after this time, ms. */
const REPORTED_AGAIN_MS = 3_600_000;
/** How long a shutdown waits for turns, ms; what they lack is done by the next process. */
const DRAIN_MS = 5000;

export async function start(context: ServiceContext<PlannerConfig>): Promise<void> {
  const { config, log, registry, signal, onShutdown } = context;
  const database = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name: NAME,
    max: 4,
  });
  onShutdown('postgres', () => database.end());
  const running: { planner?: Planner } = {};
  const admin = await context.openAdminPort({
    pages: runsPage(database),
    notReady: () => running.planner?.problems() ?? ['waits for Kafka (KAFKA_BROKERS)'],
  });
  const clickhouse = connectFreezes(context);
  const metrics = plannerMetrics(registry);
  const hold = writerHold({ database, log, service: 'planner' });
  const chunks = await connectChunks({
    hold,
    ...{ settings: config, topic: TOPIC.messagesPlanned, clientId: NAME, log, signal },
    written: (recipients) => metrics.recipientsWritten(recipients),
  });
  onShutdown('producer', () => chunks.close(DRAIN_MS));
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
      publish: chunks.publish,
      sizes: SLICE_SIZES,
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

function segmentFinder(database: Pick<Database, 'query'>) {
  return async (accountId: number, id: number): Promise<unknown> => {
    const { rows } = await database.query<{ definition: unknown }>(
      'SELECT definition FROM segments WHERE account_id = $1 AND id = $2',
      [accountId, id],
    );
    return rows[0]?.definition;
  };
}
