import type { FastifyInstance } from 'fastify';
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { ServiceContext } from '../platform/run-service.ts';
import { controlMetrics } from './metrics.ts';
import { WAKE_CHANNEL } from '../platform/operations/wake.ts';
import { minuteCounters } from '../account-api/limits/minute-counter.ts';
import { connectPostgres } from '../platform/postgres/pool.ts';
import { connectRedis } from '../platform/redis/client.ts';
import { formatAddress, type Address } from '../platform/setting-kinds.ts';
import { isBehindTls, type Config } from './config.ts';
import { isPrivateHost } from './http/private-host.ts';
import { connectAccount } from './account/connect.ts';
import type { AccountPorts } from './account/route.ts';
import { webhookConnectionStore } from './webhook-connections/store.ts';
import { auditStore } from './audit/audit-store.ts';
import { keyStore } from './keys/key-store.ts';
import { membershipStore } from './members/membership-store.ts';
import { bookMinutes } from './overview/book-minutes.ts';
import { startStore } from './overview/start-store.ts';
import { savedReportStore } from './saved-reports/saved-report-store.ts';
import { usageStore } from './usage/usage-store.ts';
import { readReconciliation } from '../platform/meters/read-reconciliation.ts';
import { HashQueue } from './members/hash-queue.ts';
import { memberStore } from './members/member-store.ts';
import { hashPassword } from './members/password.ts';
import { deadLetterCauses } from './on-call/dead-letter-causes.ts';
import { dashboardStore } from './dashboards/dashboard-store.ts';
import { linkStore } from './links/link-store.ts';
import { jobStore } from './operations/job-store.ts';
import { operationStore } from './operations/operation-store.ts';
import { namesStore } from './people/names-store.ts';
import { relayStore } from './relays/store.ts';
import { sessionStore } from './sessions/session-store.ts';
import { storeOf } from './store.ts';
import { rememberedDevices } from './sign-in-limit/remembered-devices.ts';
import { signInLimit } from './sign-in-limit/sign-in-limit.ts';
import type { AnswerSeconds } from './http/host.ts';
import { buildPanel, type PanelOptions } from './panel/app.ts';
import { readPanelFiles } from './panel/files.ts';
import { ControlProxy } from './panel/proxy.ts';
import { buildControl } from './routes/app.ts';
import type { Services } from './routes/route.ts';

export interface AppOptions extends Pick<
  PanelOptions,
  'ports' | 'files' | 'origin' | 'trustedProxies'
> {
  services: Services;
  /** Of the routes shared with the management host. */
  account: AccountPorts;
  /** A random secret of this process, which identifies requests of its panel. */
  panelSecret: string;
  seconds?: AnswerSeconds;
}

export interface App {
  /** Never public. */
  control: FastifyInstance;
  /** In front of the control plane, once that listens at an address. */
  panelBefore: (control: Address) => FastifyInstance;
}

/** Both listeners over their services; they listen nowhere yet. */
export function buildApp({
  ports,
  files,
  services,
  account,
  panelSecret,
  origin,
  trustedProxies,
  seconds,
}: AppOptions): App {
  const measured = seconds ? { seconds } : {};
  return {
    control: buildControl({ ports, services, account, panelSecret, ...measured }),
    panelBefore(control) {
      const proxy = new ControlProxy({ control, cookies: ports.cookies, panelSecret });
      const panel = buildPanel({ ports, proxy, files, origin, trustedProxies, ...measured });
      panel.addHook('onClose', () => proxy.close());
      return panel;
    },
  };
}

/** The service: its clients, the admin port, the control listener, and last the panel. */
export async function start(context: ServiceContext<Config>): Promise<void> {
  const { config, log, registry, onShutdown } = context;
  const name = 'control-plane';
  const database = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name: name,
    max: 8,
  });
  const redis = connectRedis({ settings: config, log, commandTimeout: 1000, name: name });
  onShutdown('clients', async () => {
    redis.disconnect();
    await database.end();
  });

  const { seconds, outcomes } = controlMetrics(registry);

  const store = storeOf(database);
  const secure = isBehindTls(config);
  const account = connectAccount({ context, name, database, redis });
  // About 40 MiB and two of the four threads that all of this process shares.
  const hashes = new HashQueue({
    concurrency: 2,
    maxWaiting: 64,
    maxWaitingPerNetwork: 8,
    random: Math.random,
  });
  const { control, panelBefore } = buildApp({
    account,
    services: {
      webhookConnections: webhookConnectionStore(store),
      relays: relayStore(store),
      sealer: config.SEALING_KEY,
      trackBase: config.EMAIL_TRACK_BASE,
      shortLinkBase: config.SHORT_LINK_BASE || config.INGEST_URL,
      ingestUrl: config.INGEST_URL || config.EMAIL_TRACK_BASE,
      log,
      keys: keyStore(store),
      memberships: membershipStore(store),
      hashes,
      audit: auditStore(store),
      usage: usageStore(store),
      savedReports: savedReportStore(store),
      dashboards: dashboardStore(store),
      links: linkStore(store),
      books: bookMinutes(store),
      startStore: startStore(store),
      freshness: account.services.freshness,
      people: namesStore(store),
      deadLetters: deadLetterCauses(store),
      operations: operationStore(store),
      wakeOperator: (what) => void redis.publish(WAKE_CHANNEL, what).catch(() => undefined),
      jobs: jobStore(store),
      store,
      database,
      messages: account.services.messages,
      countInMinute: minuteCounters(redis),
      mergesOf: account.services.mergesOf,
      ...account.queries,
      readBooks: (accountId) => readReconciliation(store, { accountId, spooled: 0 }),
    },
    ports: {
      log,
      outcomes,
      members: memberStore(store),
      sessions: sessionStore(redis, {
        lifetime: config.PANEL_SESSION_LIFETIME,
        idle: config.PANEL_SESSION_IDLE,
      }),
      limit: signInLimit(redis),
      devices: rememberedDevices(redis),
      hashes,
      decoy: await hashPassword(randomBytes(32).toString('base64')),
      cookies: { secure },
      lifetime: config.PANEL_SESSION_LIFETIME,
    },
    files: readPanelFiles(config.PANEL_DIR),
    panelSecret: randomBytes(32).toString('base64url'),
    origin: config.PANEL_URL === '' ? undefined : new URL(config.PANEL_URL).origin,
    trustedProxies: config.TRUSTED_PROXIES,
    seconds,
  });

  const admin = await context.openAdminPort({
    notReady: () =>
      redis.status === 'ready'
        ? []
        : ['Redis is not reachable: nobody can sign in, and requests answer 503'],
  });

  const controlAddress = config.CONTROL_ADDR ?? { host: '127.0.0.1', port: 0 };
  await control.listen(controlAddress);
  onShutdown('control listener', () => control.close());
  const bound = { host: controlAddress.host, port: (control.server.address() as AddressInfo).port };

  if (config.PANEL_ADDR) {
    if (!secure && !isPrivateHost(config.PANEL_ADDR.host))
      log.warn(
        { code: 'panel_in_the_clear', address: formatAddress(config.PANEL_ADDR) },
        'the panel can be reached from other machines over plain http: put TLS in front of it and set PANEL_URL to its https:// address',
      );
    const panel = panelBefore(bound);
    await panel.listen(config.PANEL_ADDR);
    onShutdown('panel listener', () => panel.close());
    log.info(
      {
        address: formatAddress(config.PANEL_ADDR),
        control: formatAddress(bound),
        admin: formatAddress(admin),
      },
      'the panel is served',
    );
  } else {
    log.info(
      { control: formatAddress(bound), admin: formatAddress(admin) },
      'PANEL_ADDR is empty: the panel is not served',
    );
  }
}
