/**
 * Checks connections every so often while there are any: a server without connections does not wake
 * for them.
 */
export class OccupiedTimer {
  readonly #options: { everyMs: number; isOccupied: () => boolean; check: () => void };
  #timer: NodeJS.Timeout | undefined;
  #isEnded = false;

  constructor(options: { everyMs: number; isOccupied: () => boolean; check: () => void }) {
    this.#options = options;
  }

  /** A connection was added. Checks at once when the first one comes: time may have passed. */
  occupied(): void {
    if (this.#timer || this.#isEnded) return;
    const { everyMs, isOccupied, check } = this.#options;
    check();
    this.#timer = setInterval(() => {
      if (isOccupied()) check();
      else this.#stop();
    }, everyMs).unref();
  }

  end(): void {
    this.#isEnded = true;
    this.#stop();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
