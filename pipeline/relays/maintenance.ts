import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import type { EndpointQueues } from './endpoint-queues.ts';
import type { RelayMetrics } from './metrics.ts';
import type { RelayStore } from './store.ts';

interface MaintenanceDeps {
  store: Pick<RelayStore, 'prune' | 'expirePending' | 'queue'>;
  queues: EndpointQueues;
  metrics: RelayMetrics;
  log: Log;
  now: () => number;
  signal: AbortSignal;
  /** Successes to keep for each relay. */
  keep: number;
  /** Of dead deliveries, ms. */
  retention: number;
}

const INTERVAL_MS = 15_000;
/** Prunes in every fourth interval. */
const PRUNE_EVERY = 4;
/** Pending deliveries to an endpoint that failed for this long expire (RELAYS.md), ms. */
const EXPIRE_AFTER_MS = 2 * 3_600_000;

/**
 * Prunes the log, expires deliveries to endpoints that are down for long, and measures the queue. A
 * failure is logged; the next interval retries.
 */
export async function maintenanceLoop(deps: MaintenanceDeps): Promise<void> {
  const { store, queues, metrics, log, now, signal, keep, retention } = deps;
  for (let interval = 0; !signal.aborted; interval++) {
    try {
      const down = queues.failingSince(now() - EXPIRE_AFTER_MS);
      if (down.length > 0) await store.expirePending(down);
      if (interval % PRUNE_EVERY === 0) await store.prune({ keep, retention });
      metrics.queue(await store.queue());
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

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
