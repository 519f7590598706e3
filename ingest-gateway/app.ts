import { withDeadline } from '../platform/deadline.ts';
import { ClaimBatcher } from '../platform/claims/claim-batcher.ts';
import type { Log } from '../platform/log.ts';
import { RECORD_OVERHEAD, type Config } from './config.ts';
import { initialHold } from './hold/evolve.ts';
import { followLayout, normalisedCheck } from './hold/follow-layout.ts';
import { countedPartitions, knownLayout, LAYOUT_MS } from './hold/known-layout.ts';
import { KnownTopics } from './publish/known-topics.ts';
import type { AdminPages } from '../platform/admin-server.ts';
import type { ServiceContext } from '../platform/run-service.ts';
import { connectClaims } from '../platform/claims/connect.ts';
import { connectPostgres } from '../platform/postgres/pool.ts';
import { buildVersion } from '../platform/package-version.ts';
import { formatAddress } from '../platform/setting-kinds.ts';
import { TOPIC } from '../schemas/topology.ts';
import { connectAccountStore } from './auth/account-store.ts';
import { monthMeter } from './auth/month-meter.ts';
import { connectConnectionStore } from './webhooks/connection-store.ts';
import { connectInboxStore } from './inbox/inbox-store.ts';
import { connectOpenStore } from './opens/open-store.ts';
import { connectLinkStore } from './links/link-store.ts';
import { connectOnsiteStore } from './onsite/onsite-store.ts';
import { connectShownStore } from './onsite/shown-store.ts';
import { buildOpenapi } from './openapi/build.ts';
import { logConnector, readLimits } from './publish/connect-log.ts';
import { connectAnnouncements } from './tracking/announce-opt-outs.ts';
import { connectRecipientStore } from './tracking/recipient-store.ts';
import { watchWritten } from '../platform/log/written-schemas.ts';
import { readSdkFiles, type SdkFiles } from './sdk/sdk-files.ts';
import { openSpool, type Spool } from './spool/spool.ts';
import { createGateway, type Gateway } from './gateway.ts';

/** The service: the spool, its clients, the gateway, the admin port, and last its listener. */
export async function start(context: ServiceContext<Config>): Promise<void> {
  const { config, log, onShutdown } = context;
  const version = buildVersion();
  const spool = await openSpool({
    folder: config.SPOOL_DIR,
    maxBytes: config.SPOOL_MAX_BYTES,
    maxQueuedBytes: config.PUBLISH_MAX_IN_FLIGHT_BYTES,
  });
  if (spool.records > 0 || spool.torn > 0 || spool.quarantine.found > 0)
    log.info(
      { records: spool.records, torn: spool.torn, quarantined: spool.quarantine.found },
      'the spool of an earlier process was recovered',
    );
  const topics = new KnownTopics({
    folder: config.SPOOL_DIR,
    fallback: config.EVENTS_PARTITIONS,
    log,
    largestRecord: config.MAX_BODY_BYTES + RECORD_OVERHEAD,
  });
  await topics.load();
  const database = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name: 'ingest-gateway',
    max: 2,
  });
  // Connections of their own: inboxes, campaigns and pages delay no look-up of a write key.
  const channels = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name: 'ingest-gateway-channels',
    max: 4,
  });
  const layout = await knownLayout({ config, log, database });
  const connection = {
    settings: config,
    log,
    topics: [TOPIC.raw, TOPIC.outcomes, TOPIC.channelCommands],
    timeout: config.PUBLISH_TIMEOUT,
    // Raw records have waited as long for others of their batch.
    linger: config.PUBLISH_LINGER / 2,
    maxInFlightBytes: config.PUBLISH_MAX_IN_FLIGHT_BYTES,
    smallestLimit: () => topics.smallestLimit,
  };
  const redis = connectClaims({ settings: config, role: 'gateway', onError: () => undefined });
  onShutdown('clients', async () => {
    redis.disconnect();
    await Promise.all([database.end(), channels.end()]);
  });
  const { signal } = context;
  const outcomeVersion = watchWritten('ingest-outcome', { database, log, signal });
  const rawVersion = watchWritten('raw-batch', { database, log, signal });
  const gateway = createGateway({
    config,
    log,
    version,
    spool,
    topics,
    connectLog: logConnector(connection),
    readLimits: () => readLimits(connection),
    claims: batchedClaims({ redis, config, log }),
    accounts: connectAccountStore(database),
    webhooks: config.SEALING_KEY && {
      store: connectConnectionStore(database),
      sealer: config.SEALING_KEY,
    },
    links: connectLinkStore(database),
    inbox: connectInboxStore(channels),
    tracking: config.TRACKING_KEYS && {
      tokens: config.TRACKING_KEYS,
      recipientOf: connectRecipientStore(channels),
      opens: connectOpenStore(channels),
      announceOptOut: connectAnnouncements(channels),
    },
    onsite: { campaigns: connectOnsiteStore(channels), shown: connectShownStore(channels) },
    recordsBalances: () => outcomeVersion() >= 2,
    writesRawBatches: () => rawVersion() >= 2,
    sdk: await sdkFiles({ config, log }),
    eventsThisMonth: monthMeter(database, Date.now),
    hold: {
      initial: initialHold({ ...layout, hasHeld: !spool.held.isEmpty }),
      isNormalised: normalisedCheck(config),
      onFollow: layout.onFollow,
    },
  });
  const follower = followLayout({
    ...{ database, log, gate: gateway.gate, instance: layout.instance },
    spooled: () => spool.events.total,
    refused: () => spool.quarantine.countRefused(),
    onRead: layout.onRead,
    onEpochs: (epochs) => gateway.claims.follow(epochs),
    counts: () => countedPartitions(gateway.publisher),
  });
  onShutdown('layout', () => follower.close());
  onShutdown('gateway', () => gateway.close(config.SHUTDOWN_TIMEOUT * 0.8));
  const admin = await context.openAdminPort({
    registry: gateway.metrics.registry,
    notReady: gateway.notReady,
    pages: adminPages({ gateway, spool, version }),
  });
  await withDeadline(
    { ms: LAYOUT_MS, waitingFor: 'the layout of the log' },
    follower.start(),
  ).catch(() => undefined);
  const address = config.HTTP_ADDR ?? { host: 'localhost', port: 8080 };
  await gateway.host.listen(address);
  log.info(
    { address: formatAddress(address), admin: formatAddress(admin), version },
    'the ingest host is served',
  );
}

/** Events are accepted whether or not the SDK can be served. */
async function sdkFiles({
  config,
  log,
}: Pick<ServiceContext<Config>, 'config' | 'log'>): Promise<SdkFiles | undefined> {
  if (config.SDK_DIR === '') return undefined;
  return readSdkFiles(config.SDK_DIR).catch((error: unknown) => {
    log.warn(
      { err: error, code: 'sdk_missing' },
      'SDK_DIR has no SDK: nothing is served under /sdk/; run node sdk/build.ts FOLDER',
    );
    return undefined;
  });
}

function batchedClaims({
  redis,
  config,
  log,
}: {
  redis: ReturnType<typeof connectClaims>;
  config: Pick<Config, 'DEDUPE_TTL' | 'CLAIM_PENDING'>;
  log: Log;
}): ClaimBatcher {
  return new ClaimBatcher({
    redis,
    dedupeTtl: config.DEDUPE_TTL,
    pendingTtl: config.CLAIM_PENDING,
    onUnavailable: (error) =>
      log.warn(
        { err: error, code: 'claims_unavailable' },
        'Redis does not answer: events are accepted without claims',
      ),
    onAvailable: () => log.info('Redis answers again: events are claimed'),
    onDroppedConfirms: (count) =>
      log.warn(
        { count, code: 'raises_dropped' },
        'claims could not be made durable; resends of these events reach the normaliser',
      ),
  });
}

function adminPages({
  gateway,
  spool,
  version,
}: {
  gateway: Gateway;
  spool: Spool;
  version: string;
}): AdminPages {
  const json = (value: unknown) =>
    Promise.resolve({ contentType: 'application/json', body: JSON.stringify(value) });
  return {
    '/openapi.json': () => json(buildOpenapi(gateway.routes, version)),
    '/spool': (query) => {
      const account = query.get('account');
      return json({
        events: account === null ? spool.events.total : spool.events.of(Number(account)),
      });
    },
  };
}
