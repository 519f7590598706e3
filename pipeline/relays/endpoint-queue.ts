import { errorText, type Delivery, type Outcome } from './delivery.ts';
import { afterAttempt, CLOSED, phaseOf, type BreakerPhase, type BreakerState } from './breaker.ts';
import type { RelayLimits } from './limits.ts';
import type { Relay } from './relay.ts';
import type { Slots } from './slots.ts';

/** A delivery that a lane took on. */
export interface Ticket {
  readonly delivery: Delivery;
  /** Never rejects. */
  readonly outcome: Promise<Outcome>;
  /** The outcome, once it is there. */
  readonly settled: Outcome | undefined;
  /**
   * Takes it back when its attempt has not begun; its outcome is then to wait. Answers false when
   * an attempt goes on.
   */
  withdraw(): boolean;
}

export interface EndpointQueueDeps {
  limits: RelayLimits;
  slots: Slots;
  /** One attempt; must not reject. */
  attempt(relay: Relay, delivery: Delivery): Promise<Outcome>;
  now: () => number;
  random: () => number;
  onPhase(relay: Relay, phase: BreakerPhase): void;
}

interface Waiting {
  delivery: Delivery;
  settle: (outcome: Outcome) => void;
}

const WAIT: Outcome = { kind: 'waiting', delay: 0, error: null };

/**
 * The way to one endpoint: so many attempts at once, so many deliveries waiting, a breaker. What
 * one lane suffers no other lane feels.
 */
export class EndpointQueue {
  readonly #parts: EndpointQueueDeps;
  #relay: Relay;
  #breaker: BreakerState = CLOSED;
  #phase: BreakerPhase = 'closed';
  #isSlow = false;
  #inFlight = 0;
  readonly #waiting = new Set<Waiting>();
  readonly #retry = () => this.#pump();

  constructor(relay: Relay, parts: EndpointQueueDeps) {
    this.#relay = relay;
    this.#parts = parts;
  }

  get phase(): BreakerPhase {
    return phaseOf(this.#breaker, this.#parts.now());
  }

  /** Since when the endpoint has not answered anything useful, ms; undefined when it is well. */
  get failingSince(): number | undefined {
    return this.phase === 'closed' ? undefined : this.#breaker.failingSince;
  }

  /**
   * The stream delivers by itself only where that is quick; for everything else there is the queue.
   */
  get takesFromStream(): boolean {
    return (
      this.phase === 'closed' &&
      !this.#isSlow &&
      this.#relay.secret.kind !== 'sealed' &&
      this.#waiting.size < this.#parts.limits.waiting
    );
  }

  /** What a delivery waits for that the stream does not attempt. */
  get waitsFor(): Outcome {
    const { secret } = this.#relay;
    if (secret.kind === 'sealed')
      return { kind: 'waiting', delay: 0, error: errorText(secret.problem) };
    return {
      kind: 'waiting',
      delay: Math.max(0, this.#breaker.until - this.#parts.now()),
      error: null,
    };
  }

  /** How many rows of the queue it can do with. */
  get room(): number {
    const { phase } = this;
    if (phase === 'open' || this.#relay.secret.kind === 'sealed') return 0;
    const most = phase === 'closed' ? this.#parts.limits.claimPerEndpoint : 1;
    return Math.max(0, most - this.#inFlight - this.#waiting.size);
  }

  /** The relay as it is now. Another URL is another endpoint. */
  update(relay: Relay): void {
    if (relay.url !== this.#relay.url) {
      this.#breaker = CLOSED;
      this.#isSlow = false;
    }
    this.#relay = relay;
    this.#tell();
  }

  /**
   * An attempt from the stream outlived the stream's patience: until one is quick again, deliveries
   * take the way over the queue.
   */
  foundSlow(): void {
    this.#isSlow = true;
  }

  offer(delivery: Delivery): Ticket {
    let settled: Outcome | undefined;
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const waiting: Waiting = {
      delivery,
      settle(outcome) {
        settled = outcome;
        resolve(outcome);
      },
    };
    // Nothing would call it up again while the breaker is open.
    if (this.phase === 'open') waiting.settle(this.waitsFor);
    else this.#waiting.add(waiting);
    this.#pump();
    return {
      delivery,
      outcome: promise,
      get settled() {
        return settled;
      },
      withdraw: () => {
        if (!this.#waiting.delete(waiting)) return false;
        waiting.settle(WAIT);
        return true;
      },
    };
  }

  /** Gives back what has not begun: the relay is gone or was disabled. */
  empty(): void {
    this.#putBack(WAIT);
  }

  #pump(): void {
    for (const next of this.#waiting) {
      const most = this.phase === 'closed' ? this.#parts.limits.perEndpoint : 1;
      if (this.phase === 'open' || this.#inFlight >= most) return;
      const release = this.#parts.slots.take({
        isInTrouble: this.#isSlow || this.#breaker.failures > 0,
        retry: this.#retry,
      });
      if (!release) return;
      this.#waiting.delete(next);
      void this.#run(next, release);
    }
  }

  async #run({ delivery, settle }: Waiting, release: () => void): Promise<void> {
    this.#inFlight++;
    const began = this.#parts.now();
    const relay = this.#relay;
    const outcome = await this.#parts.attempt(relay, delivery);
    this.#inFlight--;
    release();
    if (relay.url === this.#relay.url) this.#learn(outcome, began);
    settle(outcome);
    this.#pump();
  }

  #learn(outcome: Outcome, began: number): void {
    const { now, random, limits } = this.#parts;
    if (outcome.kind === 'waiting') return;
    const isAlive =
      outcome.kind === 'succeeded' || (outcome.kind === 'dead' && !outcome.isExhausted);
    this.#breaker = afterAttempt(this.#breaker, { isAlive, now: now(), random: random() });
    if (isAlive && now() - began <= limits.patience) this.#isSlow = false;
    this.#tell();
    if (this.phase === 'open')
      this.#putBack({
        kind: 'waiting',
        delay: Math.max(0, this.#breaker.until - now()),
        error: null,
      });
  }

  #putBack(outcome: Outcome): void {
    for (const waiting of this.#waiting) {
      this.#waiting.delete(waiting);
      waiting.settle(outcome);
    }
  }

  #tell(): void {
    const { phase } = this;
    if (phase === this.#phase) return;
    this.#phase = phase;
    this.#parts.onPhase(this.#relay, phase);
  }
}
