import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { BufferPool } from '../platform/buffer-pool.ts';
import type { ClaimBatcher } from '../platform/claims/claim-batcher.ts';
import { reportScanner } from '../ingest/wasm/body-scanner.ts';
import { LocalClaims } from '../platform/claims/local-claims.ts';
import { ClientClock } from '../platform/http/client-clock.ts';
import type { Log } from '../platform/log.ts';
import { IngestService } from '../ingest/accept.ts';
import { balanceAdmission } from '../ingest/balance-admission.ts';
import { BodyDecider } from '../ingest/body-decider.ts';
import { EventWriter } from '../ingest/event-writer.ts';
import type { AccountStore } from './auth/account-store.ts';
import { Accounts } from './auth/accounts.ts';
import { WriteKeys } from './auth/write-keys.ts';
import type { Config } from './config.ts';
import { ChannelServer } from './channels/channel-server.ts';
import { CommandWriter } from '../ingest/command-writer.ts';
import { registrationRoutes } from './channels/registration-routes.ts';
import { connectInbox } from './inbox/connect-inbox.ts';
import type { InboxStore } from './inbox/inbox-store.ts';
import { connectOnsite, type OnsiteClients } from './onsite/connect-onsite.ts';
import { parseTrustedProxies } from '../platform/network/client-address.ts';
import { MAX_DELIVERY_BYTES } from './webhooks/webhook-server.ts';
import { webhookRoutes, type WebhookClients } from './webhooks/webhook-routes.ts';
import { FastPath } from './fast-path/fast-path.ts';
import { connectionLimit, OpenConnections } from './http/connection-limit.ts';
import { CLIENT_LIMITS, createHost } from './http/host.ts';
import { BodyBudget } from './http/body.ts';
import { eventRoutesByPath, ingestRoutes } from './http/routes.ts';
import { EventServer } from './http/serve-events.ts';
import { connectTracking, type TrackingClients } from './tracking/connect-tracking.ts';
import type { LinkStore } from './links/link-store.ts';
import { linkRoutes } from './links/link-routes.ts';
import type { HoldState } from './hold/evolve.ts';
import { HoldGate } from './hold/hold-gate.ts';
import { GatewayMetrics } from './metrics/gateway-metrics.ts';
import { gatewayReadings } from './metrics/gauges.ts';
import type { KnownTopics } from './publish/known-topics.ts';
import { Publisher } from './publish/publisher.ts';
import type { ServedRoute } from './openapi/build.ts';
import type { ConnectLog } from './publish/connect-log.ts';
import type { SdkFiles } from './sdk/sdk-files.ts';
import { sdkRoute } from './sdk/sdk-route.ts';
import type { Spool } from './spool/spool.ts';

/** Of the buffers of raw records that are free; those in use count in what is in flight. */
const MAX_FREE_BYTES = 16 * 1024 * 1024;

/** What the gateway needs: `start` makes it from settings, tests from fakes. */
export interface GatewayOptions {
  config: Pick<
    Config,
    | 'SPOOL_DIR'
    | 'MAX_BODY_BYTES'
    | 'WRITE_KEY_CACHE'
    | 'TRUSTED_PROXIES'
    | 'PUBLISH_TIMEOUT'
    | 'PUBLISH_LINGER'
    | 'PUBLISH_MAX_IN_FLIGHT_BYTES'
  > &
    Pick<Config, 'MAX_REQUESTS_IN_FLIGHT' | 'MAX_BODIES_IN_FLIGHT_BYTES'> &
    Pick<Config, 'MAX_CONNECTIONS' | 'FAST_PATH' | 'PUSH_ENABLED'> &
    Pick<Config, 'DEDUPE_TTL' | 'CLAIM_PENDING' | 'RECENT_IDS_MAX_BYTES'>;
  log: Log;
  version: string;
  spool: Spool;
  topics: KnownTopics;
  connectLog: ConnectLog;
  /** Reads the record limits of the topics. */
  readLimits?: () => Promise<ReadonlyMap<string, number>>;
  claims: ClaimBatcher;
  /** Whether every reader of outcomes knows balances of SDKs. */
  recordsBalances: () => boolean;
  /** Whether raw records are sent in batches. */
  writesRawBatches: () => boolean;
  accounts: AccountStore;
  /** Events accepted in this Jalali month; a rejection leaves the account open (ingest 8). */
  eventsThisMonth: (accountId: number) => Promise<number>;
  /** What the gateway follows of the layout of the log. */
  hold: {
    initial: HoldState;
    isNormalised: () => Promise<boolean>;
    onFollow: (state: HoldState, publisher: Publisher) => Promise<void>;
  };
  /** Undefined: webhook connections are not enabled in this installation. */
  webhooks: WebhookClients | undefined;
  links: LinkStore;
  inbox: InboxStore;
  onsite: OnsiteClients;
  /** Undefined: TRACKING_KEYS is empty; then there are no /e/ pages and no bounce intake. */
  tracking: TrackingClients | undefined;
  /** What is served under /sdk/; undefined: nothing. */
  sdk?: SdkFiles | undefined;
}

export interface Gateway {
  host: FastifyInstance;
  claims: LocalClaims;
  publisher: Publisher;
  gate: HoldGate;
  /** What the host serves. */
  routes: readonly ServedRoute[];
  metrics: GatewayMetrics;
  /** Problems that keep the gateway from accepting events; empty means ready. */
  notReady: () => string[];
  /** Stops accepting requests, finishes those in progress, makes their events durable; in `ms`. */
  close: (ms: number) => Promise<void>;
}

/** Assembles the gateway; it listens once `host.listen` is called. */
export function createGateway(options: GatewayOptions): Gateway {
  const { config, log, spool, claims: batcher } = options;
  const metrics = new GatewayMetrics();
  const buffers = new BufferPool({ maxFreeBytes: MAX_FREE_BYTES });
  const publisher = new Publisher({
    buffers,
    spool,
    connect: options.connectLog,
    log,
    timeout: config.PUBLISH_TIMEOUT,
    maxInFlightBytes: config.PUBLISH_MAX_IN_FLIGHT_BYTES,
    topics: options.topics,
    ...(options.readLimits ? { readLimits: options.readLimits } : {}),
    onAcknowledged: metrics.acknowledged,
    batches: { linger: config.PUBLISH_LINGER / 2, isWritten: options.writesRawBatches },
  });
  const { hold, topics } = options;
  const gate = new HoldGate({
    initial: hold.initial,
    queue: spool.held,
    publish: (records) => publisher.publish(records),
    isDrained: () => publisher.isDrained,
    isNormalised: hold.isNormalised,
    onFollow: (state) => hold.onFollow(state, publisher),
    limitOf: topics.limitOf,
    log,
  });
  const unreachable = (error: unknown) =>
    log.warn(
      { err: error, code: 'accounts_unreachable' },
      'accounts and write keys cannot be read from PostgreSQL',
    );
  const { accounts: store, eventsThisMonth } = options;
  const accounts = new Accounts({
    store,
    eventsThisMonth,
    now: Date.now,
    onUnreachable: unreachable,
  });
  const monotonic = () => performance.now();
  const keys = new WriteKeys({
    store,
    accounts,
    cacheFor: config.WRITE_KEY_CACHE,
    now: monotonic,
    onUnreachable: unreachable,
  });
  const claims = new LocalClaims({
    batcher,
    dedupeTtl: config.DEDUPE_TTL,
    maxBytes: config.CLAIM_PENDING > 0 ? 0 : config.RECENT_IDS_MAX_BYTES,
    slotKeys: [randomInt(2 ** 32), randomInt(2 ** 32)],
  });
  const admitBalance = balanceAdmission();
  const writer = new EventWriter({
    claims,
    allocate: (bytes) => buffers.take(bytes),
    publish: (records) => gate.publish(records),
    partitionsOf: (topic) => (gate.isFollowing ? gate.splitBy : topics.partitionsOf(topic)),
    gateway: randomBytes(8).toString('hex'),
    admitsBalance: (...of) => options.recordsBalances() && admitBalance(...of),
    onCounted: metrics.counted,
  });
  const account = (id: number) => accounts.facts(id);
  reportScanner(log);
  const decider = new BodyDecider({
    maxBodyBytes: Math.max(config.MAX_BODY_BYTES, MAX_DELIVERY_BYTES),
    random: Math.random,
    onFailure: (error) =>
      log.warn(
        { err: error, code: 'decide_thread_failed' },
        'a large body could not be decided; it was answered 503',
      ),
  });
  const service = new IngestService({ writer, decider, account, newMessageId: randomUUID });
  const budget = new BodyBudget(config.MAX_BODIES_IN_FLIGHT_BYTES);
  const bodies = { budget, maxBodyBytes: config.MAX_BODY_BYTES };
  const trusted = parseTrustedProxies(config.TRUSTED_PROXIES);
  const events = new EventServer({
    ...{ service, keys, ...bodies },
    maxRequests: config.MAX_REQUESTS_IN_FLIGHT,
    trusted,
    log,
    now: Date.now,
    onAnswered: metrics.answered,
  });
  const routes = ingestRoutes({ version: options.version, now: () => new Date() });
  const clock = new ClientClock();
  const connections = new OpenConnections(connectionLimit(config.MAX_CONNECTIONS));
  if (connections.max < config.MAX_CONNECTIONS)
    log.warn(
      { max: connections.max, code: 'connections_limited' },
      'MAX_CONNECTIONS exceeds what the descriptor limit of the process (ulimit -n) allows; raise the limit or lower the setting',
    );
  const fastPath = new FastPath({
    ...{ events, keys, ...bodies },
    routes: eventRoutesByPath(routes),
    limits: CLIENT_LIMITS,
    clock,
    now: Date.now,
    onAnswered: metrics.answered,
  });
  const serving = {
    log,
    now: Date.now,
    isClosing: () => events.isClosing,
    onAnswered: metrics.answered,
  };
  const webhooks = webhookRoutes({
    ...serving,
    webhooks: options.webhooks,
    budget,
    maxRequests: config.MAX_REQUESTS_IN_FLIGHT,
    trusted,
    decider,
    ports: { writer, account, newDedupeId: randomUUID },
  });
  const channelServer = new ChannelServer({
    ...{ ...serving, ...bodies, keys, decider, trusted },
    maxRequests: config.MAX_REQUESTS_IN_FLIGHT,
  });
  const commands = new CommandWriter({
    publish: (records) => gate.publish(records),
    gateway: randomBytes(8).toString('hex'),
  });
  const onsite = connectOnsite({ clients: options.onsite, service, log, now: Date.now });
  const channels = channelServer.routes([
    ...registrationRoutes({ writer: commands, hasPush: config.PUSH_ENABLED }),
    connectInbox({
      ...{ store: options.inbox, writer: commands, log, now: Date.now },
      sealer: options.webhooks?.sealer,
    }),
    ...onsite.routes,
  ]);
  const tracking = connectTracking({
    ...{ ...serving, trusted, budget, writer, commands, clients: options.tracking },
    maxRequests: config.MAX_REQUESTS_IN_FLIGHT,
  });
  const links = linkRoutes({ ...serving, turns: budget.turns, store: options.links });
  const sdk = options.sdk
    ? [sdkRoute({ ...serving, turns: budget.turns, files: options.sdk })]
    : [];
  const more = [...webhooks.routes, ...links.routes, ...channels, ...tracking.routes, ...sdk];
  const host = createHost({
    routes,
    events,
    clock,
    connections,
    turns: budget.turns,
    onAnswered: metrics.answered,
    more,
    ...(config.FAST_PATH ? { fastPath } : {}),
  });
  for (const reading of gatewayReadings({
    spoolFolder: config.SPOOL_DIR,
    ...{
      spool,
      publisher,
      batcher,
      claims,
      keys,
      events,
      budget,
      connections,
      decider,
      topics,
      gate,
    },
    ...{ opens: tracking.opens, optOuts: tracking.optOuts },
  }))
    metrics.read(reading);
  return {
    host,
    claims,
    publisher,
    gate,
    routes: [...routes, ...more],
    metrics,
    notReady: () =>
      publisher.phase === 'direct' || spool.problem === undefined
        ? []
        : [...publisher.blockedDrains.values(), `Kafka is not reachable, and ${spool.problem}`],
    close: async (ms) => {
      events.isClosing = true;
      const closed = host.close();
      await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, ms / 2))]);
      gate.close();
      const deferred = [webhooks, links, onsite].map((routes) => routes.close(ms / 8));
      // Its events are published.
      await tracking.close(ms / 8);
      await Promise.all([publisher.close(ms / 4), ...deferred]);
      await decider.close();
      await spool.close();
      await batcher.close();
    },
  };
}
