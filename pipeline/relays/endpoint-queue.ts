import {
  afterAttempt,
  CLOSED,
  phaseOf,
  type BreakerPhase,
  type BreakerState,
} from '../../platform/breaker.ts';
import type { ConcurrencyLimit } from './concurrency-limit.ts';
import { errorText, WAITING, type Delivery, type Outcome } from './delivery.ts';
import type { RelayLimits } from './limits.ts';
import { afterSample, QUICK_MS, speedOf, type Latency, type Speed } from './latency.ts';
import type { Relay } from './relay.ts';

/** Mean latency of an endpoint whose attempt has outlasted the stream's wait, ms. */
const MARKED_SLOW_MS = 2.5 * QUICK_MS;

/** A delivery in an endpoint's queue. */
export interface QueuedAttempt {
  /** Never rejects. */
  readonly outcome: Promise<Outcome>;
  /** The outcome, as soon as it is known. */
  readonly result: Outcome | undefined;
  /**
   * Removes it from the queue with the outcome `waiting`. Answers false when its attempt has begun.
   */
  cancel(): boolean;
}

export interface EndpointQueueDeps {
  limits: RelayLimits;
  concurrency: ConcurrencyLimit;
  /** One attempt; must not reject. */
  attempt(relay: Relay, delivery: Delivery): Promise<Outcome>;
  now: () => number;
  random: () => number;
  onPhase(relay: Relay, phase: BreakerPhase): void;
}

interface Waiting {
  delivery: Delivery;
  resolve: (outcome: Outcome) => void;
}

/**
 * The deliveries to one endpoint in memory, with their own limits and a circuit breaker: an
 * endpoint that fails does not affect the others.
 */
export class EndpointQueue {
  readonly #deps: EndpointQueueDeps;
  #relay: Relay;
  #breaker: BreakerState = CLOSED;
  #phase: BreakerPhase = 'closed';
  #latency: Latency | undefined;
  #inFlight = 0;
  readonly #waiting = new Set<Waiting>();
  readonly #retry = () => this.#startAttempts();

  constructor(relay: Relay, deps: EndpointQueueDeps) {
    this.#relay = relay;
    this.#deps = deps;
  }

  get phase(): BreakerPhase {
    return phaseOf(this.#breaker, this.#deps.now());
  }

  /**
   * Time of the first failure since the last success, ms; undefined while the breaker is closed.
   */
  get failingSince(): number | undefined {
    return this.phase === 'closed' ? undefined : this.#breaker.failingSince;
  }

  get accountId(): number {
    return this.#relay.accountId;
  }

  get speed(): Speed {
    return speedOf(this.#latency, this.#deps.now());
  }

  /** Its attempts may use the permits that are reserved for quick endpoints. */
  get isQuick(): boolean {
    return this.#breaker.failures === 0 && this.speed === 'quick';
  }

  /**
   * Whether the stream may attempt deliveries itself; otherwise they go to the queue in PostgreSQL.
   */
  get acceptsFromStream(): boolean {
    return (
      this.phase === 'closed' &&
      this.speed !== 'slow' &&
      this.#relay.secret.kind !== 'sealed' &&
      this.#waiting.size < this.#deps.limits.waitingPerEndpoint
    );
  }

  /** The outcome of a delivery that the stream does not attempt. */
  get waitingOutcome(): Outcome {
    const { secret } = this.#relay;
    if (secret.kind === 'sealed') return { ...WAITING, error: errorText(secret.problem) };
    return { ...WAITING, delay: Math.max(0, this.#breaker.until - this.#deps.now()) };
  }

  /**
   * How many rows of the queue in PostgreSQL it can begin to attempt now; a quick endpoint, until
   * the next claim.
   */
  get capacity(): number {
    const { phase } = this;
    if (phase === 'open' || this.#relay.secret.kind === 'sealed') return 0;
    const max = phase === 'closed' ? this.#attemptsUntilNextClaim() : 1;
    return Math.max(0, max - this.#inFlight - this.#waiting.size);
  }

  #attemptsUntilNextClaim(): number {
    const { attemptsPerEndpoint, claimPerEndpoint, minPause } = this.#deps.limits;
    if (!this.isQuick) return attemptsPerEndpoint;
    const rounds = 1 + Math.floor(minPause / Math.max(1, this.#latency?.ms ?? 1));
    return Math.min(claimPerEndpoint, attemptsPerEndpoint * rounds);
  }

  /** Replaces the definition of the relay. Another URL is another endpoint. */
  update(relay: Relay): void {
    if (relay.url !== this.#relay.url) {
      this.#breaker = CLOSED;
      this.#latency = undefined;
    }
    this.#relay = relay;
    this.#reportPhase();
  }

  /** An attempt outlasted the stream's wait: deliveries are queued until it is quick again. */
  markSlow(): void {
    if (this.speed !== 'slow') this.#latency = { ms: MARKED_SLOW_MS, at: this.#deps.now() };
  }

  enqueue(delivery: Delivery): QueuedAttempt {
    let result: Outcome | undefined;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const waiting: Waiting = {
      delivery,
      resolve(outcome) {
        result = outcome;
        resolve(outcome);
      },
    };
    // While the breaker is open, nothing would start it.
    if (this.phase === 'open') waiting.resolve(this.waitingOutcome);
    else this.#waiting.add(waiting);
    this.#startAttempts();
    return {
      outcome: promise,
      get result() {
        return result;
      },
      cancel: () => {
        if (!this.#waiting.delete(waiting)) return false;
        waiting.resolve(WAITING);
        return true;
      },
    };
  }

  /** Releases what has not begun: the relay was deleted or disabled. */
  releaseWaiting(outcome: Outcome = WAITING): void {
    for (const waiting of this.#waiting) {
      this.#waiting.delete(waiting);
      waiting.resolve(outcome);
    }
  }

  #startAttempts(): void {
    for (const next of this.#waiting) {
      const max = this.phase === 'closed' ? this.#deps.limits.attemptsPerEndpoint : 1;
      if (this.phase === 'open' || this.#inFlight >= max) return;
      const release = this.#deps.concurrency.acquire({
        accountId: this.#relay.accountId,
        isQuick: this.isQuick,
        retry: this.#retry,
      });
      if (!release) return;
      this.#waiting.delete(next);
      void this.#attempt(next, release);
    }
  }

  async #attempt({ delivery, resolve }: Waiting, release: () => void): Promise<void> {
    this.#inFlight++;
    const startedAt = this.#deps.now();
    const relay = this.#relay;
    const outcome = await this.#deps.attempt(relay, delivery);
    this.#inFlight--;
    release();
    if (relay.url === this.#relay.url) this.#updateBreaker(outcome, startedAt);
    resolve(outcome);
    this.#startAttempts();
  }

  #updateBreaker(outcome: Outcome, startedAt: number): void {
    const { now, random } = this.#deps;
    if (outcome.kind === 'waiting' || outcome.kind === 'given_up') return;
    const isAlive =
      outcome.kind === 'succeeded' || (outcome.kind === 'dead' && !outcome.isExhausted);
    this.#breaker = afterAttempt(this.#breaker, { isAlive, now: now(), random: random() });
    this.#latency = afterSample(this.#latency, { ms: now() - startedAt, now: now() });
    this.#reportPhase();
    if (this.phase === 'open')
      this.releaseWaiting({ ...WAITING, delay: Math.max(0, this.#breaker.until - now()) });
  }

  #reportPhase(): void {
    const { phase } = this;
    if (phase === this.#phase) return;
    this.#phase = phase;
    this.#deps.onPhase(this.#relay, phase);
  }
}
