import { BatchedLookup } from '../../platform/batched-lookup.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { DeferredUpdates } from '../webhooks/deferred-updates.ts';
import {
  visitorId,
  type ShownAt,
  type Showing,
  type ShownStore,
  type Visitor,
  type VisitorId,
} from './shown-store.ts';

interface ShownOptions {
  store: ShownStore;
  now: () => number;
  onFailed: (error: unknown) => void;
  /** Visitors in memory. */
  capacity?: number;
}

interface Known {
  at: Map<number, number>;
  /** When the store was asked. */
  readAt: number;
}

/** A visitor's campaigns are read again after so long: other gateways show them too, ms. */
const FRESH_MS = 5000;
/** A page waits no longer for the store, and does not ask it for a while after it failed, ms. */
const DEADLINE = { ms: 100, waitingFor: 'the campaigns that a visitor has seen' };
const PAUSE_MS = 5000;
/** Campaigns of one visitor in memory. */
const MAX_CAMPAIGNS = 1000;
const WAITING_WRITES = 100_000;
const LINGER_MS = 250;

const NOTHING: ShownAt = new Map();

/**
 * The campaigns that visitors have seen. Answers from memory while the store is unreachable: then
 * one look-up every five seconds finds out whether it answers again. What is not written when the
 * process dies is in the events, and SDKs know it too.
 */
export class ShownCampaigns {
  readonly #options: ShownOptions;
  readonly #known: BoundedMap<VisitorId, Known>;
  readonly #lookup: BatchedLookup<VisitorId, Map<number, number>>;
  readonly #writes: DeferredUpdates<string, Showing>;
  #askAgainAt = -Infinity;

  constructor(options: ShownOptions) {
    this.#options = options;
    const { store, capacity = 100_000, onFailed } = options;
    this.#known = new BoundedMap(capacity);
    this.#lookup = new BatchedLookup((visitors) => store.of(visitors));
    this.#writes = new DeferredUpdates({
      write: (showings) => store.add([...showings.values()]),
      merge: (before, after) => (before.at > after.at ? before : after),
      capacity: WAITING_WRITES,
      linger: LINGER_MS,
      random: Math.random,
      onFailed,
    });
  }

  /** When campaigns were shown to a visitor, as far as the server knows. Never rejects. */
  of(visitor: Visitor): ShownAt | Promise<ShownAt> {
    const id = visitorId(visitor);
    const now = this.#options.now();
    const known = this.#known.get(id);
    if (known && now - known.readAt < FRESH_MS) return known.at;
    if (now < this.#askAgainAt) return known?.at ?? NOTHING;
    return this.#ask(id, now);
  }

  add(visitor: Visitor, campaignId: number): void {
    const at = this.#options.now();
    const id = visitorId(visitor);
    const known = this.#known.get(id) ?? { at: new Map<number, number>(), readAt: -Infinity };
    if (known.at.size < MAX_CAMPAIGNS) known.at.set(campaignId, at);
    this.#known.set(id, known);
    this.#writes.add(`${id} ${campaignId}`, { ...visitor, campaignId, at });
  }

  close(ms: number): Promise<void> {
    return this.#writes.close(ms);
  }

  async #ask(id: VisitorId, now: number): Promise<ShownAt> {
    const isProbe = this.#askAgainAt > -Infinity;
    // Until it has answered, others do not ask.
    if (isProbe) this.#askAgainAt = now + PAUSE_MS;
    try {
      const stored = await withDeadline(DEADLINE, this.#lookup.find(id));
      this.#askAgainAt = -Infinity;
      const at = merged(stored ?? new Map<number, number>(), this.#known.get(id)?.at);
      this.#known.set(id, { at, readAt: now });
      return at;
    } catch (error) {
      this.#askAgainAt = this.#options.now() + PAUSE_MS;
      this.#options.onFailed(error);
      return this.#known.get(id)?.at ?? NOTHING;
    }
  }
}

/** What is in memory may not be stored yet. */
function merged(stored: Map<number, number>, known: ShownAt | undefined): Map<number, number> {
  for (const [campaign, at] of known ?? [])
    if (at > (stored.get(campaign) ?? -Infinity) && stored.size < MAX_CAMPAIGNS)
      stored.set(campaign, at);
  return stored;
}
