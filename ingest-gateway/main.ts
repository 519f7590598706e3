import { readFileSync } from 'node:fs';
import { startAdminServer } from '../platform/admin-server.ts';
import { ClaimBatcher } from '../platform/claims/claim-batcher.ts';
import { connectClaims } from '../platform/claims/connect.ts';
import { startLifecycle } from '../platform/lifecycle.ts';
import { createLog } from '../platform/log.ts';
import { connectPostgres } from '../platform/postgres/pool.ts';
import { formatAddress } from '../platform/setting-kinds.ts';
import { SettingsError } from '../platform/settings.ts';
import { OUTCOME_TOPIC } from '../ingest/outcome-record.ts';
import { RAW_TOPIC } from '../ingest/raw-records.ts';
import { createGateway } from './app.ts';
import { connectAccountStore } from './auth/account-store.ts';
import { monthMeter } from './auth/month-meter.ts';
import { loadConfig, type Config } from './config.ts';
import { connectConnectionStore } from './webhooks/connection-store.ts';
import { connectLinkStore } from './links/link-store.ts';
import { buildOpenapi } from './openapi/build.ts';
import { connectLog } from './publish/connect-log.ts';
import { KnownPartitions } from './publish/known-partitions.ts';
import { openSpool } from './spool/spool.ts';

const NAME = 'ingest-gateway';

async function main(config: Config): Promise<void> {
  const log = createLog({ part: NAME, level: config.LOG_LEVEL });
  const lifecycle = startLifecycle({ log, timeout: config.SHUTDOWN_TIMEOUT });
  const { version } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  ) as { version: string };

  const spool = await openSpool({ folder: config.SPOOL_DIR, maxBytes: config.SPOOL_MAX_BYTES });
  if (spool.records > 0 || spool.torn > 0 || spool.quarantine.found > 0)
    log.info(
      { records: spool.records, torn: spool.torn, quarantined: spool.quarantine.found },
      'the spool of an earlier process was recovered',
    );
  const partitions = new KnownPartitions({
    folder: config.SPOOL_DIR,
    fallback: config.EVENTS_PARTITIONS,
    log,
  });
  await partitions.load();

  const database = connectPostgres({ url: config.DATABASE_URL, log, name: NAME, max: 2 });
  const redis = connectClaims({ url: config.REDIS_URL, role: 'gateway', onError: () => undefined });
  lifecycle.onShutdown('clients', async () => {
    redis.disconnect();
    await database.end();
  });
  const claims = new ClaimBatcher({
    redis,
    dedupeTtl: config.DEDUPE_TTL,
    pendingTtl: config.CLAIM_PENDING,
    onUnavailable: (error) =>
      log.warn(
        { err: error, code: 'claims_unavailable' },
        'Redis does not answer: events are accepted without claims',
      ),
    onAvailable: () => log.info('Redis answers again: events are claimed'),
    onDroppedRaises: (count) =>
      log.warn(
        { count, code: 'raises_dropped' },
        'claims could not be made durable; resends of these events reach the normaliser',
      ),
  });

  const gateway = createGateway({
    config,
    log,
    version,
    spool,
    partitions,
    connectLog: () =>
      connectLog({
        settings: config,
        log,
        topics: [RAW_TOPIC, OUTCOME_TOPIC],
        timeout: config.PUBLISH_TIMEOUT,
        linger: config.PUBLISH_LINGER,
        maxInFlightBytes: config.PUBLISH_MAX_IN_FLIGHT_BYTES,
      }),
    claims,
    accounts: connectAccountStore(database),
    hooks: config.SEALING_KEY && {
      store: connectConnectionStore(database),
      sealer: config.SEALING_KEY,
    },
    links: connectLinkStore(database),
    eventsThisMonth: monthMeter(database, Date.now),
  });
  lifecycle.onShutdown('gateway', () => gateway.close(config.SHUTDOWN_TIMEOUT * 0.8));

  const admin = await startAdminServer({
    address: config.ADMIN_ADDR ?? { host: '127.0.0.1', port: 0 },
    registry: gateway.metrics.registry,
    notReady: gateway.notReady,
    pages: {
      '/openapi.json': () =>
        Promise.resolve({
          contentType: 'application/json',
          body: JSON.stringify(buildOpenapi(gateway.routes, version)),
        }),
      '/spool': (query) => {
        const account = query.get('account');
        const events = account === null ? spool.events.total : spool.events.of(Number(account));
        return Promise.resolve({
          contentType: 'application/json',
          body: JSON.stringify({ events }),
        });
      },
    },
  });
  lifecycle.onShutdown('admin port', () => admin.close());
  const address = config.HTTP_ADDR ?? { host: 'localhost', port: 8080 };
  await gateway.host.listen(address);
  log.info(
    { address: formatAddress(address), admin: formatAddress(admin.address), version },
    'the ingest host is served',
  );
}

try {
  await main(loadConfig(process.env));
} catch (error) {
  const isSettings = error instanceof SettingsError;
  process.stderr.write(
    `${NAME} cannot start: ${isSettings ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exit(isSettings ? 2 : 1);
}
