/** How often the clocks of connections are read, ms. */
export const CHECK_EVERY_MS = 1000;
/** A longer time between two checks is a pause of the process or the machine. */
const PAUSE_MS = 3 * CHECK_EVERY_MS;

/**
 * How long clients have kept a server waiting, on a monotonic clock: a step of the system's clock
 * has no effect. After a pause, in which nothing could be read, every period begins anew.
 */
export class ClientClock {
  readonly now: () => number;
  #checkedAt: number;
  #resumedAt = -Infinity;

  constructor(now: () => number = () => performance.now()) {
    this.now = now;
    this.#checkedAt = now();
  }

  /** Is called every CHECK_EVERY_MS. */
  check(): void {
    const now = this.now();
    if (now - this.#checkedAt > PAUSE_MS) this.#resumedAt = now;
    this.#checkedAt = now;
  }

  /** The time since `at` in which the process could read, ms. */
  since(at: number): number {
    return this.now() - Math.max(at, this.#resumedAt);
  }
}
