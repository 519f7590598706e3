import type { BreakerPhase } from './breaker.ts';
import { EndpointQueue, type EndpointQueueDeps } from './endpoint-queue.ts';
import type { Relay } from './relay.ts';

/** The lanes of all enabled relays. */
export class EndpointQueues {
  readonly #parts: EndpointQueueDeps;
  readonly #lanes = new Map<number, EndpointQueue>();

  constructor(parts: EndpointQueueDeps) {
    this.#parts = parts;
  }

  /**
   * Takes the relays over as they are now; what waits for one that is gone or disabled is given
   * back.
   */
  update(relays: Iterable<Relay>): void {
    const gone = new Set(this.#lanes.keys());
    for (const relay of relays) {
      gone.delete(relay.id);
      const lane = this.#lanes.get(relay.id);
      if (lane) lane.update(relay);
      else this.#lanes.set(relay.id, new EndpointQueue(relay, this.#parts));
    }
    for (const id of gone) {
      this.#lanes.get(id)?.empty();
      this.#lanes.delete(id);
    }
  }

  of(relayId: number): EndpointQueue | undefined {
    return this.#lanes.get(relayId);
  }

  /** Relays that can do with rows of the queue, and with how many. */
  rooms(): { relayId: number; room: number }[] {
    return [...this.#lanes]
      .map(([relayId, lane]) => ({ relayId, room: lane.room }))
      .filter(({ room }) => room > 0);
  }

  *phases(): Iterable<BreakerPhase> {
    for (const lane of this.#lanes.values()) yield lane.phase;
  }

  /** Relays whose endpoint has failed without a success since before this time, ms. */
  failingSince(time: number): number[] {
    return [...this.#lanes]
      .filter(([, lane]) => (lane.failingSince ?? Number.POSITIVE_INFINITY) <= time)
      .map(([id]) => id);
  }
}
