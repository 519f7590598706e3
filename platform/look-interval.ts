/** Nothing was found for so long: looks become rarer, ms. */
const QUIET_AFTER_MS = 60_000;

/**
 * How long a process waits between two looks for work: `busyMs`, and `quietMs` after a minute in
 * which it found none.
 */
export class LookInterval {
  readonly #options: { busyMs: number; quietMs: number; now: () => number };
  #foundAt: number;

  /** @param options.now ms, monotonic */
  constructor(options: { busyMs: number; quietMs: number; now: () => number }) {
    this.#options = options;
    this.#foundAt = options.now();
  }

  /** Until the next look, ms. */
  after(look: { hasFound: boolean }): number {
    const { busyMs, quietMs, now } = this.#options;
    if (look.hasFound) this.#foundAt = now();
    return now() - this.#foundAt < QUIET_AFTER_MS ? busyMs : quietMs;
  }
}
