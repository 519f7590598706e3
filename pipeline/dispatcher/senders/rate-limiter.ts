import { RateSlots } from './rate-slots.ts';
import type { GrantedPart } from './rate-store.ts';

interface RateLimiterDeps {
  /** Asks for the next part of the time; rejects when PostgreSQL does. */
  grant: (perSecond: number) => Promise<GrantedPart | undefined>;
  /** A call may begin, or more were granted. */
  wake: () => void;
  /** ms, monotonic */
  now: () => number;
}

/** After an answer without a part, or none, ms. */
const ASK_AGAIN_MS = 200;
/** Calls of a fast sender begin some at a time, ms. */
const MIN_WAIT_MS = 10;

/**
 * The calls of one sender in this process, at most so many a second over all processes: each asks
 * for parts of its time while it needs them.
 */
export class RateLimiter {
  readonly #deps: RateLimiterDeps;
  readonly #slots = new RateSlots();
  #isAsking = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: RateLimiterDeps) {
    this.#deps = deps;
  }

  /** Uses up to `max` calls; `wake` follows when more may begin. */
  take(max: number, perSecond: number): number {
    const now = this.#deps.now();
    const count = this.#slots.take(max, now);
    if (this.#slots.isRunningOut(now)) void this.#ask(perSecond);
    const next = this.#slots.nextAt();
    if (count < max && next !== undefined) this.#wakeAt(next);
    return count;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  async #ask(perSecond: number): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const { grant, now, wake } = this.#deps;
    const part = await grant(perSecond).catch(() => undefined);
    this.#isAsking = false;
    if (part) {
      const { waitMs, calls, intervalMs } = part;
      this.#slots.add({ from: now() + waitMs, calls, intervalMs });
      wake();
    } else this.#wakeAt(now() + ASK_AGAIN_MS);
  }

  #wakeAt(at: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#deps.wake(), Math.max(MIN_WAIT_MS, at - this.#deps.now()));
    this.#timer.unref();
  }
}
