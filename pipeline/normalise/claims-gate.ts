/**
 * Stands before everything that touches claims. It is open while Redis is known to hold the claims
 * of the window. When somebody inside finds that it does not, the gate shuts, waits until everybody
 * has left (so nothing of this process is in flight to Kafka), has the claims filled, and opens
 * again.
 */
export class ClaimsGate {
  readonly #fill: () => Promise<void>;
  readonly #failed: (error: unknown) => void;
  #round = 0;
  #inside = 0;
  #isOpen = false;
  #isFilling = false;
  #waiting: (() => void)[] = [];

  /** Shut at first. `failed` is called when `fill` rejects; the gate stays shut then. */
  constructor(options: { fill: () => Promise<void>; failed: (error: unknown) => void }) {
    this.#fill = options.fill;
    this.#failed = options.failed;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Begins the first filling. */
  start(): void {
    if (!this.#isOpen) this.#begin();
  }

  /**
   * Waits for the gate and goes in; answers the round, for `lost`. Every enter needs its leave.
   * Rejects when the signal aborts.
   */
  async enter(signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    while (!this.#isOpen) await this.#opened(signal);
    this.#inside++;
    return this.#round;
  }

  leave(): void {
    this.#inside--;
    this.#begin();
  }

  /**
   * The claims of `round` are gone. Call it inside or outside; an older round than the present one
   * says nothing new.
   */
  claimsLost(round: number = this.#round): void {
    if (!this.#isOpen || round !== this.#round) return;
    this.#isOpen = false;
    this.#begin();
  }

  #begin(): void {
    if (this.#isOpen || this.#isFilling || this.#inside > 0) return;
    this.#isFilling = true;
    this.#fill().then(() => {
      this.#isFilling = false;
      this.#isOpen = true;
      this.#round++;
      for (const wake of this.#waiting.splice(0)) wake();
    }, this.#failed);
  }

  async #opened(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const aborted = () => {
        this.#waiting = this.#waiting.filter((one) => one !== wake);
        reject(signal.reason as Error);
      };
      const wake = () => {
        signal.removeEventListener('abort', aborted);
        resolve();
      };
      signal.addEventListener('abort', aborted, { once: true });
      this.#waiting.push(wake);
    });
    signal.throwIfAborted();
  }
}
