import type { FastifyInstance } from 'fastify';
import { randomBytes, randomUUID } from 'node:crypto';
import { connectClickhouse } from '../platform/clickhouse/client.ts';
import type { Config } from './config.ts';
import { exportFiles } from '../platform/files/export-files.ts';
import { packageVersion } from '../platform/package-version.ts';
import { connectPostgres } from '../platform/postgres/pool.ts';
import type { ServiceContext } from '../platform/run-service.ts';
import { connectRedis } from '../platform/redis/client.ts';
import { isSession } from '../platform/sessions.ts';
import { formatAddress } from '../platform/setting-kinds.ts';
import { audienceCounter } from './audiences/count.ts';
import { keyStore } from './auth/key-store.ts';
import { redisBudget } from './budget/redis-budget.ts';
import { ExportStore } from './exports/export-store.ts';
import type { JobTools } from './exports/run-job.ts';
import { runExportWorker } from './exports/worker.ts';
import { createFreshness } from './freshness/freshness.ts';
import { logSnapshots } from './freshness/log-snapshot.ts';
import { GROUP_OF } from './freshness/projections.ts';
import { EventWriter } from '../ingest/event-writer.ts';
import { importPublisher } from './imports/publisher.ts';
import { quotaGate } from './imports/quota.ts';
import { decideFeatures } from './introspection/features.ts';
import { billingStore } from './lock/billing-store.ts';
import { softLock } from './lock/soft-lock.ts';
import { usageStore } from './lock/usage-store.ts';
import { buildOpenapi } from './openapi/build.ts';
import { qualityQuery } from './quality/queries.ts';
import { clickhouseReports } from './reports/run.ts';
import { buildManagementHost, type ManagementOptions } from './http/host.ts';
import { servedRoutes } from './routes.ts';
import { cachedSchema } from './schema/cached.ts';
import { schemaQueries } from './schema/queries.ts';
import { segmentStore } from './segments/segment-store.ts';
import { mergesOf } from './warehouse/people-sql.ts';
import { killOnAbort } from './warehouse/kill-on-abort.ts';

/** An export may be silent for long while ClickHouse sorts or waits. */
const EXPORT_IDLE_MS = 600_000;

/** The management host over its services; it listens nowhere yet. */
export function buildApp(options: Omit<ManagementOptions, 'routes'>): FastifyInstance {
  return buildManagementHost({ ...options, routes: servedRoutes(options.services.features) });
}

/** The service: its clients, the host, the export worker, the admin port, and last its listener. */
export async function start(context: ServiceContext<Config>): Promise<void> {
  const { config, log, registry, signal, onShutdown } = context;
  const name = 'management-api';
  const version = packageVersion();
  const database = connectPostgres({ url: config.DATABASE_URL, log, name: name, max: 4 });
  const redis = connectRedis({ url: config.REDIS_URL, log, commandTimeout: 1000, name: name });
  const clickhouse = killOnAbort(
    connectClickhouse({ settings: config, name: name, requestTimeout: 60_000, connections: 16 }),
    log,
  );
  const exportClient = connectClickhouse({
    settings: config,
    name: `${name}-export`,
    requestTimeout: EXPORT_IDLE_MS,
    connections: 2,
  });
  const snapshots = logSnapshots({ settings: config, groups: Object.values(GROUP_OF), name: name });
  onShutdown('clients', async () => {
    redis.disconnect();
    await Promise.all([
      database.end(),
      clickhouse.close(),
      exportClient.close(),
      snapshots.close(),
    ]);
  });

  const readUsage = usageStore(database, Date.now);
  const merges = mergesOf(clickhouse);
  const publisher = importPublisher({ settings: config, log, name: name });
  onShutdown('publisher', () => publisher.close());
  const segments = segmentStore(database);
  const exportStore = new ExportStore(database);

  const features = decideFeatures({
    segments: config.FEATURE_SEGMENTS,
    analytics: config.FEATURE_ANALYTICS,
    ingest: config.FEATURE_INGEST,
    asyncExports: config.FEATURE_ASYNC_EXPORTS,
  });

  const host = buildApp({
    trustedProxies: config.TRUSTED_PROXIES,
    registry,
    services: {
      log,
      version,
      features,
      resolveToken: keyStore({
        database,
        resolveSession: async (token) => ({
          kind: (await isSession(redis, token)) ? 'session' : 'unknown',
        }),
      }),
      chargeBudget: redisBudget(redis),
      budgetPerMinute: config.PUBLIC_API_BUDGET_PER_MINUTE,
      checkLock: softLock({ log, readBilling: billingStore({ database, readUsage }) }),
      freshness: createFreshness({ fetchSnapshot: () => snapshots.fetch(), now: Date.now, log }),
      reports: clickhouseReports(clickhouse),
      schema: cachedSchema(schemaQueries(clickhouse)),
      readQuality: qualityQuery(clickhouse),
      mergesOf: merges,
      countAudience: audienceCounter({ client: clickhouse, mergesOf: merges }),
      segments,
      imports: {
        writer: new EventWriter({
          publish: (records) => publisher.publish(records),
          partitionsOf: () => publisher.partitions(),
          gateway: randomBytes(8).toString('hex'),
        }),
        checkQuota: quotaGate({ database, readUsage, log }),
        makeId: randomUUID,
      },
      exports: exportStore,
    },
  });

  const files = exportFiles(config);
  const tools: JobTools = { client: exportClient, files, segments, mergesOf: merges };
  const worker = runExportWorker({ store: exportStore, files, tools, log, signal: signal });
  onShutdown('export worker', () => worker);

  const admin = await context.openAdminPort({
    pages: {
      '/openapi.json': () =>
        Promise.resolve({
          contentType: 'application/json',
          body: JSON.stringify(buildOpenapi(servedRoutes(features), version)),
        }),
    },
    notReady: () =>
      redis.status === 'ready'
        ? []
        : ['Redis is not reachable: requests answer 503 budget_unavailable'],
  });

  if (config.PUBLIC_API_ADDR) {
    await host.listen({ host: config.PUBLIC_API_ADDR.host, port: config.PUBLIC_API_ADDR.port });
    onShutdown('listener', () => host.close());
    log.info(
      {
        address: formatAddress(config.PUBLIC_API_ADDR),
        admin: formatAddress(admin),
        version,
      },
      'the management host is served',
    );
  } else {
    log.info(
      { admin: formatAddress(admin), version },
      'PUBLIC_API_ADDR is empty: the management host is not served, only the admin port',
    );
  }
}
