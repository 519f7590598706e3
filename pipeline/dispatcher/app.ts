import { randomBytes } from 'node:crypto';
import { logPublisher } from '../../ingest/log-publisher.ts';
import { writerHold } from '../../ingest/writer-hold.ts';
import { connectDelivery, type DeliveryTools } from '../../messaging/delivery/connect-delivery.ts';
import { connectConsentLag } from '../../messaging/recipients/consent-lag.ts';
import { messageSettingsReader } from '../../messaging/settings/settings-store.ts';
import { delay } from '../../platform/backoff.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { ErasedRecipients } from '../../platform/log/erased-recipients.ts';
import { metricsOf } from '../../platform/metrics.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import { RecentSet } from '../../platform/recent-set.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import type { DispatcherConfig } from './config.ts';
import { Dispatcher } from './dispatcher.ts';
import { openIntake } from './intake/intake.ts';
import { dispatcherMetrics } from './metrics.ts';
import { openOutbox } from './outbox/outbox.ts';
import { openRecipients } from './recipients/open-recipients.ts';
import { skipErased } from './recipients/skip-erased.ts';
import { messagesPage, openRuns } from './runs/runs.ts';
import { grantRates, type GrantedPart, type RateKey } from './senders/rate-store.ts';
import { SenderGates, type ChannelGate } from './senders/sender-gates.ts';
import { sendersPage } from './senders/senders-page.ts';
import { chunkWriter } from './store/chunk-writer.ts';
import { releaseLeases } from './store/lease-chunks.ts';
import type { OpenChunkPorts } from './worker/ports.ts';
import { PreparedBytes } from './worker/prepared-bytes.ts';
import { GroupedCalls } from '../../platform/grouped-calls.ts';
import { IDLE_MS, watchWork } from './watch-work.ts';

const NAME = 'ravand-dispatcher';
/** A killed process without a name holds its chunks so long, ms. */
const LEASE_MS = 15_000;
/** A chunk that waits notices within this time that its run was paused or cancelled, ms. */
const RENEW_MS = 3000;
/** Share of SHUTDOWN_TIMEOUT for open calls; the rest is for what they came to. */
const DRAIN_SHARE = 0.5;
/** A run whose recipients cannot be looked up is logged again after this time, ms. */
const REPORTED_AGAIN_MS = 60_000;
/** Counts of missing variables are stored so often, ms. */
const FLUSH_MS = 30_000;
const CONNECTIONS = { chunks: 3, queues: 4, recipients: 8, clickhouse: 8 };

export async function start(context: ServiceContext<DispatcherConfig>): Promise<void> {
  const { config, log, registry, signal, crash, onShutdown } = context;
  const connect = (name: string, max: number) =>
    connectPostgres({ url: config.DATABASE_URL, size: config.DATABASE_POOL_SIZE, log, name, max });
  // Neither look-ups of recipients nor copies of chunks wait in front of what ends messages.
  const database = connect(NAME, CONNECTIONS.chunks);
  const lookups = connect(`${NAME}-recipients`, CONNECTIONS.recipients);
  const queues = connect(`${NAME}-queues`, CONNECTIONS.queues);
  onShutdown('postgres', async () => {
    await Promise.all([database, lookups, queues].map((pool) => pool.end()));
  });
  const problems: (() => string[])[] = [];
  let channels: () => Iterable<ChannelGate> = () => [];
  const admin = await context.openAdminPort({
    pages: { ...messagesPage(database), ...sendersPage(() => channels()) },
    notReady: () =>
      problems.length === 0
        ? ['waits for PostgreSQL (DATABASE_URL)']
        : problems.flatMap((problemsOf) => problemsOf()),
  });
  const owner = `${config.KAFKA_INSTANCE_ID}/${randomBytes(9).toString('base64url')}`;
  await releaseOwnLeases(context, database);
  const erased = await ErasedRecipients.follow({ database, log, signal });

  const hold = writerHold({ database, log, service: 'dispatcher' });
  const publisher = logPublisher({ settings: config, log, name: NAME, hold });
  onShutdown('publisher', () => publisher.close());
  const outbox = openOutbox({
    ...{ database: queues, publisher, log, registry, erased, owner },
    ...{ now: Date.now, random: Math.random, idleMs: IDLE_MS },
  });
  onShutdown('outbox', () => outbox.stop());
  const runs = openRuns({ database: queues, log, registry, idleMs: IDLE_MS });
  onShutdown('runs', () => runs.stop());

  const delivery = connectDelivery({ config, log, database: lookups, publisher });
  onShutdown('delivery', () => delivery.close());
  const recipients = connectRecipients(context, { database: lookups, delivery });
  const gates = buildGates(context, { database, delivery });
  channels = () => gates.all();
  const dispatcher = buildDispatcher(context, {
    ...{ database, gates, owner },
    openPorts: skipErased(recipients, erased),
    finished: () => outbox.notify(),
  });
  onShutdown('chunks', () => dispatcher.stop(config.SHUTDOWN_TIMEOUT * DRAIN_SHARE));
  const intake = openIntake({
    ...{ settings: config, clientId: NAME, instanceId: config.KAFKA_INSTANCE_ID },
    ...{ database: queues, log, registry, signal, crash },
    onCopied: () => dispatcher.wake(),
  });
  onShutdown('intake', () => intake.stop());

  outbox.start();
  runs.start();
  dispatcher.start();
  intake.start();
  void watchWork({
    database: queues,
    found: {
      runs() {
        dispatcher.wake();
        runs.wake();
      },
      outcomes: () => outbox.notify(),
    },
    signal,
  });
  void flushUntilEnd(delivery, signal);
  problems.push(
    () => intake.problems(),
    () => dispatcher.problems(),
  );
  log.info({ admin }, 'the dispatcher is running');
}

/** The leases of a process with the same name that was killed. */
async function releaseOwnLeases(
  { config, log, signal }: ServiceContext<DispatcherConfig>,
  database: Database,
): Promise<void> {
  const instance = config.KAFKA_INSTANCE_ID;
  if (instance === '') return;
  const what = 'reading the chunks of campaigns';
  const released = await retryUntilAborted(
    { log, signal, code: 'postgres_unreachable', what },
    () => releaseLeases(database, `${instance}/`),
  );
  if (released > 0)
    log.info({ released }, 'released the leases of a killed process; its chunks are due again');
}

function connectRecipients(
  { config, log, registry, onShutdown }: ServiceContext<DispatcherConfig>,
  { database, delivery }: { database: Database; delivery: DeliveryTools },
): OpenChunkPorts {
  const clickhouse = connectClickhouse({
    ...{ settings: config, name: NAME, requestTimeout: 10_000 },
    connections: CONNECTIONS.clickhouse,
  });
  const consentLag = connectConsentLag({ settings: config, name: NAME, log, now: Date.now });
  onShutdown('clickhouse', async () => {
    await Promise.all([clickhouse.close(), consentLag.close()]);
  });
  const readSettings = messageSettingsReader({ database, now: () => performance.now() });
  const waits = metricsOf(registry).counter(
    'ravand_dispatcher_consent_waits_total',
    'Times that a recipient of marketing waited for 5 s because profiles-sink or addresses-sink was more than 30 s behind: nobody knows who has unsubscribed since.',
  );
  return openRecipients({
    ...{ database, clickhouse, delivery, readSettings, consentLag, now: Date.now },
    consentsWaitedFor: (recipients) => waits.inc(recipients),
  });
}

function buildGates(
  { config, log }: ServiceContext<DispatcherConfig>,
  { database, delivery }: { database: Database; delivery: DeliveryTools },
): SenderGates {
  const grants = new GroupedCalls<RateKey, GrantedPart | undefined>({
    run: (keys) => grantRates(database, keys),
  });
  const now = () => performance.now();
  return new SenderGates({
    senders: delivery.senders,
    readSettings: messageSettingsReader({ database, now }),
    grantRate: (key) => grants.call(key),
    ...{ maxCalls: config.DISPATCHER_CALLS, now, random: Math.random },
    onPhase: ({ accountId: account, channel }, phase) =>
      log.info(
        { account, channel, phase },
        phase === 'open'
          ? 'a sender of messages fails; its messages wait'
          : 'the circuit breaker of a sender changed its phase',
      ),
  });
}

function buildDispatcher(
  { config, log, registry }: ServiceContext<DispatcherConfig>,
  parts: {
    database: Database;
    gates: SenderGates;
    owner: string;
    openPorts: OpenChunkPorts;
    finished: () => void;
  },
): Dispatcher {
  const { database, gates, owner, openPorts, finished } = parts;
  const metrics = dispatcherMetrics(registry, {
    phases: () => [...gates.all()].map(({ gate }) => gate.phase),
    openCalls: () => gates.openCalls,
    chunks: () => dispatcher.chunks,
  });
  // Writing goes on while a shutdown ends calls; it ends with the process.
  const write = chunkWriter(database, {
    terms: { leaseMs: LEASE_MS },
    ...{ log, signal: new AbortController().signal },
  });
  const dispatcher: Dispatcher = new Dispatcher({
    ...{ database, gates, openPorts, metrics, log, owner },
    write: async (one) => {
      const answer = await write(one);
      if (one.outcomes.length > 0) finished();
      return answer;
    },
    prepared: new PreparedBytes(config.DISPATCHER_MEMORY),
    reported: new RecentSet({ capacity: 1000, keepFor: REPORTED_AGAIN_MS }),
    ...{ leaseMs: LEASE_MS, renewAfterMs: RENEW_MS, slots: config.DISPATCHER_CHUNKS },
    ...{ now: Date.now, random: Math.random, idleMs: IDLE_MS },
  });
  return dispatcher;
}

async function flushUntilEnd(
  { flush }: Pick<DeliveryTools, 'flush'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await delay(FLUSH_MS, signal).catch(() => undefined);
    // What is not stored now is stored with the next counts.
    await flush().catch(() => undefined);
  }
}
