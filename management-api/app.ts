import type { FastifyInstance } from 'fastify';
import { randomBytes, randomUUID } from 'node:crypto';
import type { Config } from './config.ts';
import { exportFiles } from '../platform/files/export-files.ts';
import { buildVersion } from '../platform/package-version.ts';
import { connectPostgres } from '../platform/postgres/pool.ts';
import type { ServiceContext } from '../platform/run-service.ts';
import { connectRedis } from '../platform/redis/client.ts';
import { isSession } from '../platform/sessions.ts';
import { formatAddress } from '../platform/setting-kinds.ts';
import { keyStore } from './auth/key-store.ts';
import { OpenRequests } from '../account-api/limits/open-requests.ts';
import { minuteCounters } from '../account-api/limits/minute-counter.ts';
import { redisBudget } from './budget/redis-budget.ts';
import { connectCampaigns } from '../account-api/campaigns/connect-campaigns.ts';
import { ExportStore } from '../account-api/exports/export-store.ts';
import type { JobTools } from '../account-api/exports/run-job.ts';
import { runExportWorkers } from '../account-api/exports/worker.ts';
import { createFreshness } from '../platform/freshness/freshness.ts';
import { logSnapshots } from '../platform/freshness/log-snapshot.ts';
import { BodyDecider } from '../ingest/body-decider.ts';
import { EventWriter } from '../ingest/event-writer.ts';
import { logPublisher } from '../ingest/log-publisher.ts';
import { writerHold } from '../ingest/writer-hold.ts';
import { quotaGate } from './imports/quota.ts';
import { featuresOf } from '../account-api/settings.ts';
import { billingStore } from '../account-api/lock/billing-store.ts';
import { softLock } from '../account-api/lock/soft-lock.ts';
import { usageStore } from '../account-api/lock/usage-store.ts';
import { buildOpenapi } from './openapi/build.ts';
import { BODY } from '../account-api/http/limits.ts';
import { connectMessages } from '../account-api/messages/connect-messages.ts';
import { onsiteAudiences } from './onsite-audiences/start.ts';
import { buildManagementHost, type ManagementOptions } from './http/host.ts';
import { readCampaignStats } from '../account-api/campaigns/stats/read-campaign-stats.ts';
import { connectQueries } from '../account-api/queries.ts';
import { connectJobClients } from './job-clients.ts';
import { servedRoutes } from './routes.ts';
import { cachedSchema } from '../account-api/schema/cached.ts';
import { segmentStore } from '../account-api/segments/segment-store.ts';

/** The management host over its services; it listens nowhere yet. */
export function buildApp(options: Omit<ManagementOptions, 'routes'>): FastifyInstance {
  return buildManagementHost({ ...options, routes: servedRoutes(options.services.features) });
}

/** The service: its clients, the host, the export worker, the admin port, and last its listener. */
export async function start(context: ServiceContext<Config>): Promise<void> {
  const { config, log, registry, signal, onShutdown } = context;
  const name = 'management-api';
  const version = buildVersion();
  const database = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name: name,
    max: 4,
  });
  const redis = connectRedis({ settings: config, log, commandTimeout: 1000, name: name });
  const jobs = connectJobClients({ config, name });
  const {
    job,
    countPeople,
    close: closeQueries,
    ...queries
  } = connectQueries({
    ...{ config, name, log, registry, metric: 'ravand_management_queries' },
    jobQueries: jobs.queries,
  });
  const snapshots = logSnapshots({
    ...{ settings: config, name },
    projections: ['events', 'identities', 'profiles'],
  });
  onShutdown('clients', async () => {
    redis.disconnect();
    await Promise.all([database.end(), closeQueries(), jobs.close(), snapshots.close()]);
  });

  const count = minuteCounters(redis);
  const readUsage = usageStore(database, Date.now);
  const hold = writerHold({ database, log, service: name });
  const publisher = logPublisher({ settings: config, log, name, hold });
  onShutdown('publisher', () => publisher.close());
  const decider = new BodyDecider({
    maxBodyBytes: BODY.most,
    random: Math.random,
    onFailure: (error) =>
      log.warn(
        { err: error, code: 'decide_thread_failed' },
        'a large import could not be decided; it was answered 503',
      ),
  });
  onShutdown('decider', () => decider.close());
  const segments = segmentStore(database);
  const exportStore = new ExportStore(database);

  const features = featuresOf(config);

  const { messages, close: closeMessages } = connectMessages({
    ...{ config, name, log, registry, count, publisher },
  });
  onShutdown('messages', () => closeMessages(config.SHUTDOWN_TIMEOUT * 0.6));

  const host = buildApp({
    trustedProxies: config.TRUSTED_PROXIES,
    registry,
    services: {
      log,
      version,
      features,
      resolveToken: keyStore({
        database,
        now: () => performance.now(),
        resolveSession: async (token) => ({
          kind: (await isSession(redis, token)) ? 'session' : 'unknown',
        }),
      }),
      chargeBudget: redisBudget(count),
      budgetPerMinute: config.PUBLIC_API_BUDGET_PER_MINUTE,
      checkLock: softLock({ log, readBilling: billingStore({ database, readUsage }) }),
      freshness: createFreshness({ fetchSnapshot: () => snapshots.fetch(), now: Date.now, log }),
      openRequests: new OpenRequests(config.MAX_REQUESTS_PER_ACCOUNT),
      ...queries,
      schema: cachedSchema(queries.schema),
      segments,
      campaigns: connectCampaigns(database, (query) =>
        readCampaignStats({ database, mergesOf: queries.mergesOf, countPeople }, query),
      ),
      imports: {
        decider,
        writer: new EventWriter({
          publish: (records) => publisher.publish(records),
          partitionsOf: () => publisher.partitions(),
          gateway: randomBytes(8).toString('hex'),
        }),
        checkQuota: quotaGate({ database, readUsage, log }),
        makeId: randomUUID,
      },
      exports: exportStore,
      messages,
    },
  });

  const files = exportFiles(config);
  const tools: JobTools = {
    ...job,
    client: jobs.exports,
    ...{ files, segments, maxRunMs: config.EXPORT_TIME_LIMIT },
    fileLimits: {
      maxAccountBytes: config.MAX_EXPORT_BYTES_PER_ACCOUNT,
      minFreeBytes: config.EXPORT_MIN_FREE_BYTES,
    },
  };
  const workers = config.EXPORT_WORKERS;
  const worker = runExportWorkers({ workers, store: exportStore, files, tools, log, signal });
  onShutdown('export workers', () => worker);
  const audiences = onsiteAudiences({
    ...{ database, log, registry, signal },
    members: { ...job, client: jobs.members },
  });
  onShutdown('on-site audiences', () => audiences);

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
