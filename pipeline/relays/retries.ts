import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import type { WakeSignal } from './wake-signal.ts';
import type { Definitions } from './definitions.ts';
import type { EndpointQueues } from './endpoint-queues.ts';
import type { RelayLimits } from './limits.ts';
import type { OutcomeWriter } from './outcome-writer.ts';
import type { RelayStore } from './store.ts';

interface RetryParts {
  store: Pick<RelayStore, 'claim'>;
  definitions: Pick<Definitions, 'asOf'>;
  lanes: EndpointQueues;
  outcomes: OutcomeWriter;
  limits: RelayLimits;
  log: Log;
  now: () => number;
  /** Rung when the stream put something into the queue. */
  bell: WakeSignal;
  signal: AbortSignal;
}

/** Rows in this process's hands, at most: memory. */
const MOST_IN_HAND = 5000;
/** The relays that retries go by are at most this old, ms. */
const DEFINITIONS_AGE = 1000;

/** Attempts what is due in the queue, for as long as the process runs. Rejects only on a defect. */
export async function retryLoop(parts: RetryParts): Promise<void> {
  const { log, limits, bell, signal } = parts;
  let failures = 0;
  while (!signal.aborted) {
    let found = 0;
    try {
      found = await claimDue(parts);
      if (failures > 0) log.info({ failures }, 'the relay queue is read again');
      failures = 0;
    } catch (error) {
      if (error instanceof TypeError || error instanceof RangeError) throw error;
      const message = error instanceof Error ? error.message : String(error);
      if (failures % 10 === 0 && !isAborted(signal))
        log.warn(
          { code: 'postgres_unreachable' },
          `reading the relay queue failed (${message}); trying again`,
        );
      failures++;
    }
    await delay(limits.busy * (0.75 + Math.random() / 2), signal).catch(() => undefined);
    if (found === 0) await bell.wait(limits.idle * Math.min(10, 1 + failures), signal);
  }
}

/** One claim; answers how many rows it took. */
async function claimDue({
  store,
  definitions,
  lanes,
  outcomes,
  limits,
  now,
}: RetryParts): Promise<number> {
  await definitions.asOf(now() - DEFINITIONS_AGE);
  const rooms = lanes.rooms();
  const most = Math.min(limits.claim, MOST_IN_HAND - outcomes.size);
  if (rooms.length === 0 || most <= 0) return 0;
  const claimed = await store.claim({ rooms, most, lease: limits.lease });
  // A relay whose address was put right before its deliveries were retried: they go to the new one.
  const isCurrent =
    claimed.length === 0 ||
    (await definitions.asOf(now()).then(
      () => true,
      () => false,
    ));
  for (const { id, delivery } of claimed) {
    // A lease that ran out while its outcome could not be written: it is still in hand.
    if (outcomes.has(id)) continue;
    const lane = isCurrent ? lanes.of(delivery.relayId) : undefined;
    outcomes.follow(
      id,
      lane
        ? lane.offer(delivery).outcome
        : Promise.resolve({ kind: 'waiting', delay: 0, error: null }),
    );
  }
  return claimed.length;
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
