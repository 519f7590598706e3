import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import type { EndpointQueues } from './endpoint-queues.ts';
import type { RelayMetrics } from './metrics.ts';
import type { RelayStore } from './store.ts';

interface UpkeepParts {
  store: Pick<RelayStore, 'prune' | 'giveUp' | 'queue'>;
  lanes: EndpointQueues;
  metrics: RelayMetrics;
  log: Log;
  now: () => number;
  signal: AbortSignal;
  keep: number;
  retention: number;
}

const EVERY_MS = 15_000;
/** The log is pruned every so many turns. */
const PRUNE_EVERY = 4;
/**
 * An endpoint that failed so long has used its time up: what is pending since then is dead, ms
 * (RELAYS.md, "An endpoint that is down").
 */
const GIVE_UP_AFTER = 2 * 3_600_000;

/**
 * Prunes the log, ends what waits for endpoints that are long gone, and measures the queue. A
 * failure is logged and tried again at the next turn.
 */
export async function upkeepLoop(parts: UpkeepParts): Promise<void> {
  const { store, lanes, metrics, log, now, signal, keep, retention } = parts;
  for (let turn = 0; !signal.aborted; turn++) {
    try {
      const gone = lanes.failingSince(now() - GIVE_UP_AFTER);
      if (gone.length > 0) await store.giveUp(gone);
      if (turn % PRUNE_EVERY === 0) await store.prune({ keep, retention });
      metrics.queue(await store.queue());
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (!isAborted(signal))
        log.warn(
          { code: 'upkeep_failed' },
          `upkeep of the relay log failed (${message}); trying again at the next turn`,
        );
    }
    await delay(EVERY_MS * (0.75 + Math.random() / 2), signal).catch(() => undefined);
  }
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
