/**
 * Milliseconds in which this process could have noticed an acknowledgement. A pause of the event
 * loop or of the machine counts as one period at most: reports that arrived meanwhile are read
 * before the next `tick` that follows in time.
 */
export class ActiveClock {
  readonly #period: number;
  #last: number;
  /** The time at the last tick. */
  value = 0;

  /** @param now ms of a monotonic clock */
  constructor(options: { period: number; now: number }) {
    this.#period = options.period;
    this.#last = options.now;
  }

  /** Called once per period. */
  tick(now: number): void {
    this.value += Math.min(now - this.#last, this.#period);
    this.#last = now;
  }
}
