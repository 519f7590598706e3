import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import type { Definitions } from './definitions.ts';
import { WAITING } from './delivery.ts';
import { inTurns, planClaim, type Room } from './plan-claim.ts';
import type { ConcurrencyLimit } from './concurrency-limit.ts';
import type { EndpointQueues } from './endpoint-queues.ts';
import type { RelayLimits } from './limits.ts';
import type { OutcomeWriter } from './outcome-writer.ts';
import type { RelayStore } from './store.ts';
import type { WakeSignal } from '../../platform/wake-signal.ts';

interface RetryLoopDeps {
  store: Pick<RelayStore, 'due' | 'claim'>;
  definitions: Pick<Definitions, 'asOf'>;
  queues: EndpointQueues;
  outcomes: OutcomeWriter;
  concurrency: Pick<ConcurrencyLimit, 'free' | 'freeForOthers'>;
  limits: RelayLimits;
  log: Log;
  now: () => number;
  /** Notified when the stream added a due delivery to the queue, and when relays have changed. */
  wakeSignal: WakeSignal;
  signal: AbortSignal;
}

/** Due rows that are read for each row that may be claimed, so that each account has its turn. */
const READ_AHEAD = 2;
/** Maximum age of the definitions that retries use, ms. */
const DEFINITIONS_AGE_MS = 1000;
/** The same while no relay could attempt anything: the stream reads new relays by itself, ms. */
const NO_RELAYS_AGE_MS = 5000;
/** Between two reads of the queue while there are no relays, in `maxPause`s. */
const NO_RELAYS_PAUSES = 5;

/** Attempts due deliveries until the signal aborts. Rejects only with a defect. */
export async function retryLoop(deps: RetryLoopDeps): Promise<void> {
  const { log, limits, queues, wakeSignal, signal } = deps;
  let failures = 0;
  let turn = 0;
  while (!signal.aborted) {
    let claimed = 0;
    try {
      claimed = await claimDue(deps, turn++);
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
    const pauses = Math.max(queues.size === 0 ? NO_RELAYS_PAUSES : 1, Math.min(10, 1 + failures));
    if (claimed === 0) await wakeSignal.wait(limits.maxPause * pauses, signal);
  }
}

/** One claim; answers the number of claimed rows. */
async function claimDue(deps: RetryLoopDeps, turn: number): Promise<number> {
  const { store, definitions, queues, outcomes, limits, now } = deps;
  const age = queues.available().length > 0 ? DEFINITIONS_AGE_MS : NO_RELAYS_AGE_MS;
  await definitions.asOf(now() - age);
  const endpoints = inTurns(queues.available(), turn);
  const total = roomInTotal(deps);
  if (endpoints.length === 0 || total.rows <= 0 || total.bytes <= 0) return 0;
  const due = await store.due({ endpoints, limit: READ_AHEAD * total.rows });
  const ids = planClaim({ endpoints, due, total, ofAccount: (id) => roomOfAccount(deps, id) });
  if (ids.length === 0) return 0;
  const claimed = await store.claim({ ids, lease: limits.lease });
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
    outcomes.track(id, delivery, queue?.enqueue(delivery).outcome ?? Promise.resolve(WAITING));
  }
  return claimed.length;
}

function roomInTotal({ outcomes, limits, concurrency }: RetryLoopDeps): Room {
  return {
    rows: limits.claimed - outcomes.size,
    bytes: limits.claimedBytes - outcomes.bytes,
    others: concurrency.freeForOthers,
  };
}

/** An account gets at most half of the rows and bytes in memory. */
function roomOfAccount({ outcomes, limits, concurrency }: RetryLoopDeps, accountId: number): Room {
  const { rows, bytes } = outcomes.ofAccount(accountId);
  return {
    rows: limits.claimed / 2 - rows,
    bytes: limits.claimedBytes / 2 - bytes,
    others: concurrency.free({ accountId, isQuick: false }),
  };
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
