import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import type { Definitions } from './definitions.ts';
import { WAITING } from './delivery.ts';
import type { EndpointQueues } from './endpoint-queues.ts';
import type { RelayLimits } from './limits.ts';
import type { OutcomeWriter } from './outcome-writer.ts';
import type { RelayStore } from './store.ts';
import type { WakeSignal } from './wake-signal.ts';

interface RetryLoopDeps {
  store: Pick<RelayStore, 'claim'>;
  definitions: Pick<Definitions, 'asOf'>;
  queues: EndpointQueues;
  outcomes: OutcomeWriter;
  limits: RelayLimits;
  log: Log;
  now: () => number;
  /** Notified when the stream added a due delivery to the queue. */
  wakeSignal: WakeSignal;
  signal: AbortSignal;
}

/** Limits memory. */
const MAX_ROWS_IN_FLIGHT = 5000;
/** Maximum age of the definitions that retries use, ms. */
const DEFINITIONS_AGE_MS = 1000;

/** Attempts due deliveries until the signal aborts. Rejects only with a defect. */
export async function retryLoop(deps: RetryLoopDeps): Promise<void> {
  const { log, limits, wakeSignal, signal } = deps;
  let failures = 0;
  while (!signal.aborted) {
    let claimed = 0;
    try {
      claimed = await claimDue(deps);
      if (failures > 0) log.info({ failures }, 'reading the relay queue succeeded again');
      failures = 0;
    } catch (error) {
      if (error instanceof TypeError || error instanceof RangeError) throw error;
      const message = error instanceof Error ? error.message : String(error);
      if (failures % 10 === 0 && !isAborted(signal))
        log.warn(
          { code: 'postgres_unreachable' },
          `reading the relay queue failed (${message}); retrying with backoff`,
        );
      failures++;
    }
    await delay(limits.minPause * (0.75 + Math.random() / 2), signal).catch(() => undefined);
    if (claimed === 0) await wakeSignal.wait(limits.maxPause * Math.min(10, 1 + failures), signal);
  }
}

/** One claim; answers the number of claimed rows. */
async function claimDue({
  store,
  definitions,
  queues,
  outcomes,
  limits,
  now,
}: RetryLoopDeps): Promise<number> {
  await definitions.asOf(now() - DEFINITIONS_AGE_MS);
  const capacities = queues.capacities();
  const limit = Math.min(limits.claim, MAX_ROWS_IN_FLIGHT - outcomes.size);
  if (capacities.length === 0 || limit <= 0) return 0;
  const claimed = await store.claim({ capacities, limit, lease: limits.lease });
  // When an account corrects a relay's URL and then retries its deliveries, they go to the new URL.
  const isCurrent =
    claimed.length === 0 ||
    (await definitions.asOf(now()).then(
      () => true,
      () => false,
    ));
  for (const { id, delivery } of claimed) {
    // Its lease expired while its outcome could not be written.
    if (outcomes.has(id)) continue;
    const queue = isCurrent ? queues.get(delivery.relayId) : undefined;
    outcomes.track(id, queue?.enqueue(delivery).outcome ?? Promise.resolve(WAITING));
  }
  return claimed.length;
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
