import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import type { DeliveryLog } from './delivery-log.ts';
import type { EndpointQueues } from './endpoint-queues.ts';
import type { RelayMetrics } from './metrics.ts';
import type { Size } from './queue-bounds.ts';
import { MAINTENANCE_ROWS } from './maintenance-statements.ts';
import type { MaintenanceStore } from './maintenance-store.ts';

interface MaintenanceDeps {
  store: Pick<MaintenanceStore, keyof MaintenanceStore>;
  queues: Pick<EndpointQueues, 'failingSince'>;
  deliveryLog: Pick<DeliveryLog, 'read' | 'keepsDead'>;
  metrics: Pick<RelayMetrics, 'queue' | 'givenUp' | 'notKept'>;
  log: Log;
  now: () => number;
  signal: AbortSignal;
  /** Successes to keep for each relay. */
  keep: number;
  /** Of dead deliveries, ms. */
  retention: number;
  /** Of pending deliveries, ms. */
  pendingRetention: number;
  /** Relays that have only failed for this long are disabled, ms; 0: never. */
  disableAfter: number;
}

const INTERVAL_MS = 15_000;
/** Prunes in every fourth interval. */
const PRUNE_EVERY = 4;
/** Pending deliveries to an endpoint that failed for this long expire (RELAYS.md), ms. */
const EXPIRE_AFTER_MS = 2 * 3_600_000;
/** Relays whose successes one statement prunes. */
const RELAYS_PER_PRUNE = 50;

/**
 * Prunes the log, expires deliveries that have been pending for too long, disables relays whose
 * endpoints are down for days, and measures the queue. A failure is logged; the next interval
 * retries.
 */
export async function maintenanceLoop(deps: MaintenanceDeps): Promise<void> {
  const { log, signal } = deps;
  for (let interval = 0; !signal.aborted; interval++) {
    try {
      await maintain(deps, { isPruning: interval % PRUNE_EVERY === 0 });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!isAborted(signal))
        log.warn(
          { code: 'upkeep_failed' },
          `maintenance of the relay log failed (${message}); retrying in ${INTERVAL_MS / 1000} s`,
        );
    }
    await delay(INTERVAL_MS * (0.75 + Math.random() / 2), signal).catch(() => undefined);
  }
}

/** One round: every statement is bounded, and repeated until nothing is left to do. */
export async function maintain(
  deps: MaintenanceDeps,
  { isPruning }: { isPruning: boolean },
): Promise<void> {
  const { store, deliveryLog, metrics } = deps;
  await deliveryLog.read();
  await expire(deps);
  if (isPruning) {
    await prune(deps);
    await disableFailing(deps);
  }
  const queues = await deliveryLog.read();
  const [pending, dead] = [
    sum(queues.map((one) => one.pending)),
    sum(queues.map((one) => one.dead)),
  ];
  metrics.queue({ pending, dead, ...(await store.dueRows()) });
}

async function expire(deps: MaintenanceDeps): Promise<void> {
  const { store, queues, now, pendingRetention } = deps;
  for (const relay of queues.failingSince(now() - EXPIRE_AFTER_MS)) {
    const reason = 'the endpoint failed for two hours';
    await expireRelay(deps, { ...relay, age: EXPIRE_AFTER_MS, reason });
  }
  for (const relay of await store.withExpired(pendingRetention)) {
    const reason = `not delivered within ${Math.round(pendingRetention / 3_600_000)} hours`;
    await expireRelay(deps, { ...relay, age: pendingRetention, reason });
  }
}

async function expireRelay(
  { store, deliveryLog, metrics, signal }: MaintenanceDeps,
  options: { relayId: number; accountId: number; age: number; reason: string },
): Promise<void> {
  const { relayId, accountId, age, reason } = options;
  await untilDone(signal, async () => {
    const isKept = deliveryLog.keepsDead({ relayId, accountId });
    const expired = await store.expirePending({ relayId, age, reason, isKept });
    if (expired === 0) return 0;
    metrics.givenUp('expired', expired);
    if (!isKept) metrics.notKept(expired);
    await deliveryLog.read();
    return expired;
  });
}

async function prune({ store, signal, keep, retention }: MaintenanceDeps): Promise<void> {
  const relayIds = await store.withSuccesses();
  for (let at = 0; at < relayIds.length; at += RELAYS_PER_PRUNE) {
    const some = relayIds.slice(at, at + RELAYS_PER_PRUNE);
    await untilDone(signal, () => store.pruneSuccesses(some, keep));
  }
  await untilDone(signal, () => store.pruneDead(retention));
  await untilDone(signal, () => store.pruneHours());
}

async function disableFailing({ store, log, disableAfter }: MaintenanceDeps): Promise<void> {
  if (disableAfter === 0) return;
  for (const { relayId, accountId } of await store.disableFailing(disableAfter))
    log.warn(
      { code: 'relay_disabled', relay_id: relayId, account_id: accountId },
      'a relay is disabled: its endpoint has only failed for days',
    );
}

/** Repeats a bounded statement until it changes fewer rows than it may. */
async function untilDone(signal: AbortSignal, statement: () => Promise<number>): Promise<void> {
  while (!signal.aborted && (await statement()) >= MAINTENANCE_ROWS);
}

function sum(sizes: readonly Size[]): Size {
  return {
    rows: sizes.reduce((total, { rows }) => total + rows, 0),
    bytes: sizes.reduce((total, { bytes }) => total + bytes, 0),
  };
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
