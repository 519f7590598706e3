import { randomBytes } from 'node:crypto';
import { delay } from '../../platform/backoff.ts';
import { startPartitionConsumer } from '../../platform/kafka/consumer.ts';
import { OutboundClient } from '../../platform/outbound/client.ts';
import { outboundGuard } from '../../platform/outbound/outbound-settings.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import { MAX_ERROR_BYTES } from '../../events/relays/retry.ts';
import { attemptWith } from './attempt.ts';
import { WakeSignal } from '../../platform/wake-signal.ts';
import type { RelaysConfig } from './config.ts';
import { Definitions } from './definitions.ts';
import { DeliveryLog } from './delivery-log.ts';
import { FirstAttempts } from './first-attempts.ts';
import type { EndpointQueueDeps } from './endpoint-queue.ts';
import { EndpointQueues } from './endpoint-queues.ts';
import { RELAY_LIMITS, type RelayLimits } from './limits.ts';
import { relayMetrics } from './metrics.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import { readLayout } from '../../platform/log/layout.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import { retryLoop } from './retry-loop.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { RelayStore } from './store.ts';
import { relayPartitionTask } from './partition-task.ts';
import { maintenanceLoop } from './maintenance.ts';
import { MaintenanceStore } from './maintenance-store.ts';
import type { ServiceContext } from '../../platform/run-service.ts';
import { GROUP, TOPIC } from '../../schemas/topology.ts';

interface RelaysOptions extends Pick<
  ServiceContext<RelaysConfig>,
  'config' | 'log' | 'registry' | 'signal' | 'crash'
> {
  database: Database;
  names?: { topic: string; group: string };
  limits?: RelayLimits;
}

export interface Relays {
  /** Why it does not deliver, or not of every partition, one sentence each. */
  problems(): string[];
  /** Stops consuming, waits a bounded time for attempts in flight, and writes their outcomes. */
  close(): Promise<void>;
}

const NAMES = { topic: TOPIC.normalised, group: GROUP.relays };
/**
 * How long a shutdown waits for attempts in flight, ms; the next process attempts the others again.
 */
const DRAIN_MS = 5000;

/**
 * Assembles the service: events.normalised -> endpoints of relays or the queue in PostgreSQL; queue
 * -> endpoints.
 */
export async function startRelays(options: RelaysOptions): Promise<Relays> {
  const { config, log, registry, database, names = NAMES, limits = RELAY_LIMITS, signal } = options;
  const now = () => Date.now();
  const random = () => Math.random();
  const instance = config.KAFKA_INSTANCE_ID;
  const store = new RelayStore(database, `${instance}/${randomBytes(9).toString('base64url')}`);
  const client = new OutboundClient({
    ...outboundGuard(config),
    timeout: limits.attemptTimeout,
    excerptBytes: MAX_ERROR_BYTES,
  });
  const concurrency = new ConcurrencyLimit(limits.attempts);
  const metrics = relayMetrics(registry, {
    phases: () => queues.phases(),
    attemptsNow: () => concurrency.inUse,
  });
  const onPhase: EndpointQueueDeps['onPhase'] = ({ id, accountId }, phase) =>
    log.info(
      { relay_id: id, account_id: accountId, phase },
      phase === 'open'
        ? 'an endpoint fails; its deliveries wait in the queue'
        : 'the circuit breaker of a relay changed its phase',
    );
  const queues = new EndpointQueues({
    limits,
    concurrency,
    attempt: attemptWith({ client, metrics, now, random }),
    now,
    random,
    onPhase,
  });
  const wakeSignal = new WakeSignal();
  const definitions = new Definitions({
    store,
    sealer: config.SEALING_KEY,
    log,
    now,
    changed(relays) {
      queues.update(relays);
      wakeSignal.notify();
    },
  });
  const stopped = new AbortController();
  const deliveryLog = new DeliveryLog({
    ...{ store, metrics, limits, now },
    bounds: { rows: config.RELAY_QUEUE_ROWS, bytes: config.RELAY_QUEUE_BYTES },
  });
  const outcomes = new OutcomeWriter({ store, deliveryLog, log, signal: stopped.signal });
  const firstAttempts = new FirstAttempts({ queues, outcomes, metrics, limits, wakeSignal });

  if (instance !== '') {
    const released = await retryUntilAborted(
      { log, signal, code: 'postgres_unreachable', what: 'reading the relay queue' },
      () => store.release(`${instance}/`),
    );
    if (released > 0)
      log.info(
        { released },
        'released the leases of a killed process; its deliveries are due again',
      );
  }
  const { SEALING_KEY: sealer } = config;
  if (!sealer)
    log.warn(
      { code: 'no_sealing_key' },
      'SEALING_KEY is not set; relays with a secret deliver nothing',
    );
  const layout = await retryUntilAborted(
    { log, signal, code: 'postgres_unreachable', what: 'reading the layout of the log' },
    () => readLayout(database),
  );
  const consumer = await startPartitionConsumer({
    settings: config,
    log,
    registry,
    groupId: names.group,
    clientId: `ravand-${names.group}`,
    instanceId: instance,
    topic: names.topic,
    partitions: layout?.partitions,
    evidence: { database, before: 'effects' },
    valuesUntil: 'processed',
    batch: { records: 2000, bytes: 8 * 2 ** 20, linger: 5, interval: 50, maxInterval: 250 },
    assigned: (partition, _committed, fenced) =>
      relayPartitionTask({
        store,
        definitions,
        firstAttempts,
        deliveryLog,
        metrics,
        limits,
        log,
        partition,
        // A shutdown drains the partition before it fences it.
        signal: fenced,
      }),
    crash: options.crash,
  });
  const loops = new AbortController();
  const loopSignal = AbortSignal.any([signal, loops.signal]);
  const keeping = {
    keep: config.RELAY_LOG_SUCCESSES,
    retention: config.RELAY_LOG_RETENTION,
    pendingRetention: config.RELAY_QUEUE_RETENTION,
    disableAfter: config.RELAY_DISABLE_AFTER,
  };
  const running = [
    retryLoop({
      store,
      definitions,
      queues,
      outcomes,
      concurrency,
      limits,
      log,
      now,
      wakeSignal,
      signal: loopSignal,
    }).catch((error: unknown) => options.crash(error)),
    maintenanceLoop({
      store: new MaintenanceStore(database),
      queues,
      deliveryLog,
      metrics,
      log,
      now,
      signal: loopSignal,
      ...keeping,
    }),
  ];
  return {
    problems: () => consumer.problems(),
    async close() {
      loops.abort(new Error('closing'));
      await Promise.all([consumer.close(), ...running]);
      queues.update([]);
      await outcomes.drain(DRAIN_MS);
      stopped.abort(new Error('closing'));
      await delay(0);
      client.close();
    },
  };
}

/** The service: the admin port, PostgreSQL and the relays. */
export async function start(context: ServiceContext<RelaysConfig>): Promise<void> {
  const { config, log, registry, signal, crash, onShutdown } = context;
  const running: { relays?: Relays } = {};
  const admin = await context.openAdminPort({
    notReady() {
      const { relays } = running;
      if (!relays) return ['waiting for PostgreSQL (DATABASE_URL)'];
      return relays.problems();
    },
  });
  const database = connectPostgres({
    url: config.DATABASE_URL,
    size: config.DATABASE_POOL_SIZE,
    log,
    name: 'ravand-relays',
    max: 4,
  });
  onShutdown('postgres', () => database.end());
  const relays = await startRelays({ config, log, registry, database, signal, crash });
  running.relays = relays;
  onShutdown('relays', () => relays.close());
  log.info({ admin }, 'relays are delivered');
}
