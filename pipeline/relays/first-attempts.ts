import type { WakeSignal } from './wake-signal.ts';
import { IN_HAND, type Delivery, type Outcome } from './delivery.ts';
import type { EndpointQueue, Ticket } from './endpoint-queue.ts';
import type { EndpointQueues } from './endpoint-queues.ts';
import type { RelayLimits } from './limits.ts';
import type { RelayMetrics } from './metrics.ts';
import type { OutcomeWriter } from './outcome-writer.ts';
import type { Entry } from './store.ts';

interface FirstParts {
  lanes: EndpointQueues;
  outcomes: OutcomeWriter;
  metrics: Pick<RelayMetrics, 'queued'>;
  limits: RelayLimits;
  /** Rung when something is in the queue that is due. */
  bell: WakeSignal;
}

/**
 * What the endpoint's lane did with a delivery of the stream: it took it on, or the delivery waits
 * in the queue.
 */
type Offered =
  | { delivery: Delivery; lane: EndpointQueue; ticket: Ticket }
  | { delivery: Delivery; waits: Outcome };

const WAITS: Outcome = { kind: 'waiting', delay: 0, error: null };

/**
 * Attempts deliveries of the stream, and gives the stream back after its patience: what is not
 * finished then goes on by itself, or waits in the queue.
 */
export class FirstAttempts {
  readonly #parts: FirstParts;

  constructor(parts: FirstParts) {
    this.#parts = parts;
  }

  /**
   * `write` must store what became of the deliveries and answer the rows of those in hand, by their
   * number.
   */
  async settle(
    deliveries: readonly Delivery[],
    write: (entries: readonly Entry[]) => Promise<ReadonlyMap<number, number>>,
  ): Promise<void> {
    const { outcomes, metrics, bell } = this.#parts;
    const offered = deliveries.map((delivery) => this.#offer(delivery));
    await this.#patience(offered.flatMap((one) => ('ticket' in one ? [one.ticket] : [])));
    const entries = offered.map((one): Entry => ({
      delivery: one.delivery,
      outcome: 'ticket' in one ? outcomeNow(one) : one.waits,
    }));
    const rows = await write(entries);
    for (const [at, id] of rows) {
      const one = offered[at];
      if (one && 'ticket' in one) outcomes.follow(id, one.ticket.outcome);
    }
    if (entries.some(({ outcome }) => outcome.kind === 'waiting' && outcome.delay === 0))
      bell.notify();
    for (const reason of ['waiting', 'retry', 'in_hand'] as const) {
      const count = entries.filter(({ outcome }) => outcome.kind === reason).length;
      if (count > 0) metrics.queued(reason, count);
    }
  }

  #offer(delivery: Delivery): Offered {
    const lane = this.#parts.lanes.of(delivery.relayId);
    if (!lane?.takesFromStream) return { delivery, waits: lane?.waitsFor ?? WAITS };
    return { delivery, lane, ticket: lane.offer(delivery) };
  }

  /** Waits until all have an outcome, at most for the stream's patience. */
  async #patience(tickets: readonly Ticket[]): Promise<void> {
    if (tickets.length === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>(
      (resolve) => (timer = setTimeout(resolve, this.#parts.limits.patience)),
    );
    await Promise.race([Promise.all(tickets.map(({ outcome }) => outcome)), over]);
    clearTimeout(timer);
  }
}

/**
 * The outcome as it stands: what waits is taken back, what goes on is in hand, and its endpoint is
 * slow.
 */
function outcomeNow({ ticket, lane }: { ticket: Ticket; lane: EndpointQueue }): Entry['outcome'] {
  if (ticket.settled === undefined && !ticket.withdraw()) {
    lane.foundSlow();
    return IN_HAND;
  }
  return ticket.settled ?? WAITS;
}
