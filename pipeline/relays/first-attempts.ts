import { IN_FLIGHT, WAITING, type Delivery, type Outcome } from './delivery.ts';
import type { EndpointQueue, QueuedAttempt } from './endpoint-queue.ts';
import type { EndpointQueues } from './endpoint-queues.ts';
import type { RelayLimits } from './limits.ts';
import type { RelayMetrics } from './metrics.ts';
import type { OutcomeWriter } from './outcome-writer.ts';
import type { DeliveryResult } from './store.ts';
import type { WakeSignal } from '../../platform/wake-signal.ts';

interface FirstAttemptDeps {
  queues: EndpointQueues;
  outcomes: OutcomeWriter;
  metrics: Pick<RelayMetrics, 'queued'>;
  limits: RelayLimits;
  /** Notified when a delivery in the queue is due. */
  wakeSignal: WakeSignal;
}

/** A delivery of the stream. */
export interface NewDelivery {
  delivery: Delivery;
  /** No first attempt is made: this is its outcome. */
  decided: Outcome | undefined;
}

/** Its endpoint attempts it, or it has an outcome without an attempt. */
type FirstAttempt =
  | { delivery: Delivery; queue: EndpointQueue; attempt: QueuedAttempt }
  | { delivery: Delivery; decided: Outcome };

/** Deliveries whose attempts have begun. */
export interface StartedAttempts {
  attempts: readonly FirstAttempt[];
  /** End of the stream's wait for them, ms of performance.now(). */
  until: number;
}

/**
 * Attempts deliveries of the stream. The stream waits a bounded time for them; attempts that take
 * longer continue on their own, and the rest goes to the queue in PostgreSQL. Deliveries to slow
 * endpoints go there at once.
 */
export class FirstAttempts {
  readonly #deps: FirstAttemptDeps;

  constructor(deps: FirstAttemptDeps) {
    this.#deps = deps;
  }

  start(deliveries: readonly NewDelivery[]): StartedAttempts {
    return {
      attempts: deliveries.map((one) => this.#start(one)),
      until: performance.now() + this.#deps.limits.firstAttemptWait,
    };
  }

  /**
   * @param write stores the results and answers the row ids of those in flight, by their index
   */
  async complete(
    { attempts, until }: StartedAttempts,
    write: (results: readonly DeliveryResult[]) => Promise<ReadonlyMap<number, number>>,
  ): Promise<void> {
    const { outcomes, metrics, wakeSignal } = this.#deps;
    await wait(
      attempts.flatMap((one) => ('attempt' in one ? [one.attempt] : [])),
      until,
    );
    const results = attempts.map((one): DeliveryResult => ({
      delivery: one.delivery,
      outcome: 'attempt' in one ? outcomeNow(one) : one.decided,
    }));
    const rows = await write(results);
    for (const [index, id] of rows) {
      const one = attempts[index];
      if (one && 'attempt' in one) outcomes.track(id, one.delivery, one.attempt.outcome);
    }
    if (results.some(({ outcome }) => outcome.kind === 'waiting' && outcome.delay === 0))
      wakeSignal.notify();
    for (const kind of ['waiting', 'retry', 'in_flight'] as const) {
      const count = results.filter(({ outcome }) => outcome.kind === kind).length;
      if (count > 0) metrics.queued(kind, count);
    }
  }

  #start({ delivery, decided }: NewDelivery): FirstAttempt {
    if (decided) return { delivery, decided };
    const queue = this.#deps.queues.get(delivery.relayId);
    if (!queue?.acceptsFromStream) return { delivery, decided: queue?.waitingOutcome ?? WAITING };
    // Attempts that outlast the wait keep their payloads in memory.
    if (this.#deps.outcomes.bytes >= this.#deps.limits.claimedBytes)
      return { delivery, decided: WAITING };
    return { delivery, queue, attempt: queue.enqueue(delivery) };
  }
}

/** Waits until all have an outcome, at most until `until`. */
async function wait(attempts: readonly QueuedAttempt[], until: number): Promise<void> {
  if (attempts.every(({ result }) => result !== undefined)) return;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>(
    (resolve) => (timer = setTimeout(resolve, Math.max(0, until - performance.now()))),
  );
  await Promise.race([Promise.all(attempts.map(({ outcome }) => outcome)), timeout]);
  clearTimeout(timer);
}

/**
 * The current outcome. Cancels an attempt that has not begun; one in flight marks its queue slow.
 */
function outcomeNow({
  attempt,
  queue,
}: {
  attempt: QueuedAttempt;
  queue: EndpointQueue;
}): DeliveryResult['outcome'] {
  if (attempt.result === undefined && !attempt.cancel()) {
    queue.markSlow();
    return IN_FLIGHT;
  }
  return attempt.result ?? WAITING;
}
