import type { BreakerPhase } from '../../platform/breaker.ts';
import { EndpointQueue, type EndpointQueueDeps } from './endpoint-queue.ts';
import type { AvailableEndpoint } from './plan-claim.ts';
import type { Relay } from './relay.ts';

/** The endpoint queues of all enabled relays. */
export class EndpointQueues {
  readonly #deps: EndpointQueueDeps;
  readonly #queues = new Map<number, EndpointQueue>();

  constructor(deps: EndpointQueueDeps) {
    this.#deps = deps;
  }

  /** Applies the current relays. Waiting deliveries of deleted or disabled ones are released. */
  update(relays: Iterable<Relay>): void {
    const removed = new Set(this.#queues.keys());
    for (const relay of relays) {
      removed.delete(relay.id);
      const queue = this.#queues.get(relay.id);
      if (queue) queue.update(relay);
      else this.#queues.set(relay.id, new EndpointQueue(relay, this.#deps));
    }
    for (const id of removed) {
      this.#queues.get(id)?.releaseWaiting();
      this.#queues.delete(id);
    }
  }

  get size(): number {
    return this.#queues.size;
  }

  get(relayId: number): EndpointQueue | undefined {
    return this.#queues.get(relayId);
  }

  /** Endpoints that can begin to attempt rows of the queue in PostgreSQL. */
  available(): AvailableEndpoint[] {
    return [...this.#queues]
      .map(([relayId, { accountId, isQuick, capacity }]) => ({
        relayId,
        accountId,
        isQuick,
        capacity,
      }))
      .filter(({ capacity }) => capacity > 0);
  }

  *phases(): Iterable<BreakerPhase> {
    for (const queue of this.#queues.values()) yield queue.phase;
  }

  /** Relays whose endpoint has failed without a success since before this time, ms. */
  failingSince(time: number): { relayId: number; accountId: number }[] {
    return [...this.#queues]
      .filter(([, queue]) => (queue.failingSince ?? Number.POSITIVE_INFINITY) <= time)
      .map(([relayId, { accountId }]) => ({ relayId, accountId }));
  }
}
