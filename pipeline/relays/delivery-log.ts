import { errorText, type Delivery, type GivenUp, type Outcome } from './delivery.ts';
import type { RelayLimits } from './limits.ts';
import type { RelayMetrics } from './metrics.ts';
import { QueueBounds, type RelayQueue, type Size } from './queue-bounds.ts';
import type { DeliveryResult, RelayStore } from './store.ts';
import { SuccessLog } from './success-log.ts';

interface DeliveryLogDeps {
  store: Pick<RelayStore, 'queues'>;
  metrics: Pick<RelayMetrics, 'givenUp' | 'notKept'>;
  limits: Pick<RelayLimits, 'loggedPerRelay' | 'logged'>;
  /** Of an account: pending deliveries, and as many dead ones. */
  bounds: Size;
  now: () => number;
}

/** Minimum time between two readings of the counts, ms. */
const COUNTS_AGE_MS = 1000;

/**
 * Decides what is stored of deliveries: the queue and the dead deliveries of an account and of a
 * relay are bounded, and successes are logged up to a rate. What is not stored is counted.
 */
export class DeliveryLog {
  readonly #deps: DeliveryLogDeps;
  readonly #bounds: QueueBounds;
  readonly #successes: SuccessLog;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<readonly RelayQueue[]> | undefined;

  constructor(deps: DeliveryLogDeps) {
    this.#deps = deps;
    this.#bounds = new QueueBounds(deps.bounds);
    this.#successes = new SuccessLog(deps.limits);
  }

  /** Reads the counts when they are older than a second. Rejects when PostgreSQL does. */
  async refresh(): Promise<void> {
    if (this.#deps.now() - this.#readAt >= COUNTS_AGE_MS) await this.read();
  }

  /** Reads the counts now, and answers them. */
  read(): Promise<readonly RelayQueue[]> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** A result of the stream as it is stored: a delivery that finds its queue full is dead. */
  ofStream(result: DeliveryResult): DeliveryResult {
    const { delivery, outcome } = result;
    switch (outcome.kind) {
      case 'succeeded':
        return { ...result, isKept: this.#successes.admits(delivery.relayId, this.#deps.now()) };
      case 'in_flight':
        // Bounded by the attempts in flight.
        this.#bounds.add(delivery, 'pending', bytesOf(delivery));
        return result;
      case 'waiting':
      case 'retry':
        if (this.#admits(delivery, 'pending')) return result;
        this.#deps.metrics.givenUp('queue_full', 1);
        return this.#ofDead({ ...result, outcome: queueFull(outcome) });
      default:
        return this.#ofDead(result);
    }
  }

  /** Whether the log keeps a row of the queue with this outcome. */
  keeps(delivery: Delivery, outcome: Outcome): boolean {
    switch (outcome.kind) {
      case 'succeeded':
        return this.#successes.admits(delivery.relayId, this.#deps.now());
      case 'waiting':
      case 'retry':
        return true;
      default:
        return this.#admitsDead(delivery);
    }
  }

  /** Whether dead deliveries of the relay are stored. */
  keepsDead(relay: { relayId: number; accountId: number }): boolean {
    return this.#bounds.hasRoom(relay, 'dead');
  }

  #ofDead(result: DeliveryResult): DeliveryResult {
    return { ...result, isKept: this.#admitsDead(result.delivery) };
  }

  #admitsDead(delivery: Delivery): boolean {
    const isKept = this.#admits(delivery, 'dead');
    if (!isKept) this.#deps.metrics.notKept(1);
    return isKept;
  }

  #admits(delivery: Delivery, state: 'pending' | 'dead'): boolean {
    if (!this.#bounds.hasRoom(delivery, state)) return false;
    this.#bounds.add(delivery, state, bytesOf(delivery));
    return true;
  }

  async #read(): Promise<readonly RelayQueue[]> {
    const { store, now } = this.#deps;
    this.#bounds.startReading();
    const startedAt = now();
    const queues = await store.queues();
    this.#bounds.update(queues);
    this.#readAt = startedAt;
    return queues;
  }
}

function bytesOf({ payload }: Delivery): number {
  return Buffer.byteLength(payload);
}

function queueFull(outcome: Extract<Outcome, { kind: 'waiting' | 'retry' }>): GivenUp {
  const isAttempt = outcome.kind === 'retry';
  const last = isAttempt ? `; the first attempt: ${outcome.error}` : '';
  return {
    kind: 'given_up',
    status: isAttempt ? outcome.status : null,
    error: errorText(`queue_full: too many deliveries of this relay or account wait${last}`),
    isAttempt,
  };
}
