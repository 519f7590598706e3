import { IN_FLIGHT, WAITING, type Delivery, type Outcome } from './delivery.ts';
import type { EndpointQueue, QueuedAttempt } from './endpoint-queue.ts';
import type { EndpointQueues } from './endpoint-queues.ts';
import type { RelayLimits } from './limits.ts';
import type { RelayMetrics } from './metrics.ts';
import type { OutcomeWriter } from './outcome-writer.ts';
import type { DeliveryResult } from './store.ts';
import type { WakeSignal } from './wake-signal.ts';

interface FirstAttemptDeps {
  queues: EndpointQueues;
  outcomes: OutcomeWriter;
  metrics: Pick<RelayMetrics, 'queued'>;
  limits: RelayLimits;
  /** Notified when a delivery in the queue is due. */
  wakeSignal: WakeSignal;
}

/** A delivery of the stream: its endpoint attempts it, or it waits in the queue in PostgreSQL. */
type FirstAttempt =
  | { delivery: Delivery; queue: EndpointQueue; attempt: QueuedAttempt }
  | { delivery: Delivery; waiting: Outcome };

/**
 * Attempts deliveries of the stream. The stream waits a bounded time for them; attempts that take
 * longer continue on their own, and the rest goes to the queue in PostgreSQL.
 */
export class FirstAttempts {
  readonly #deps: FirstAttemptDeps;

  constructor(deps: FirstAttemptDeps) {
    this.#deps = deps;
  }

  /**
   * @param write stores the results and answers the row ids of those in flight, by their index
   */
  async complete(
    deliveries: readonly Delivery[],
    write: (results: readonly DeliveryResult[]) => Promise<ReadonlyMap<number, number>>,
  ): Promise<void> {
    const { outcomes, metrics, wakeSignal } = this.#deps;
    const attempts = deliveries.map((delivery) => this.#start(delivery));
    await this.#wait(attempts.flatMap((one) => ('attempt' in one ? [one.attempt] : [])));
    const results = attempts.map((one): DeliveryResult => ({
      delivery: one.delivery,
      outcome: 'attempt' in one ? outcomeNow(one) : one.waiting,
    }));
    const rows = await write(results);
    for (const [index, id] of rows) {
      const one = attempts[index];
      if (one && 'attempt' in one) outcomes.track(id, one.attempt.outcome);
    }
    if (results.some(({ outcome }) => outcome.kind === 'waiting' && outcome.delay === 0))
      wakeSignal.notify();
    for (const kind of ['waiting', 'retry', 'in_flight'] as const) {
      const count = results.filter(({ outcome }) => outcome.kind === kind).length;
      if (count > 0) metrics.queued(kind, count);
    }
  }

  #start(delivery: Delivery): FirstAttempt {
    const queue = this.#deps.queues.get(delivery.relayId);
    if (!queue?.acceptsFromStream) return { delivery, waiting: queue?.waitingOutcome ?? WAITING };
    return { delivery, queue, attempt: queue.enqueue(delivery) };
  }

  /** Waits until all have an outcome, at most for firstAttemptWait. */
  async #wait(attempts: readonly QueuedAttempt[]): Promise<void> {
    if (attempts.length === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>(
      (resolve) => (timer = setTimeout(resolve, this.#deps.limits.firstAttemptWait)),
    );
    await Promise.race([Promise.all(attempts.map(({ outcome }) => outcome)), timeout]);
    clearTimeout(timer);
  }
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
