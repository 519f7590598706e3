/**
 * Guards every use of claims. It is open while Redis is known to hold the claims of the window.
 * When a holder reports that they are lost, the gate closes, waits until every holder has left (so
 * that nothing of this process is in flight to Kafka), lets the claims be loaded, and opens again.
 */
export class ClaimsGate {
  readonly #load: () => Promise<void>;
  readonly #failed: (error: unknown) => void;
  #round = 0;
  #inside = 0;
  #isOpen = false;
  #isLoading = false;
  #waiting: (() => void)[] = [];

  /** Starts closed. `failed` is called when `load` rejects; the gate then stays closed. */
  constructor(options: { load: () => Promise<void>; failed: (error: unknown) => void }) {
    this.#load = options.load;
    this.#failed = options.failed;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Starts the first load. */
  start(): void {
    if (!this.#isOpen) this.#loadWhenEmpty();
  }

  /**
   * Waits until the gate is open and enters. Returns the round, for `claimsLost`. Every `enter`
   * needs a `leave`. Rejects when the signal aborts.
   */
  async enter(signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    while (!this.#isOpen) await this.#opened(signal);
    this.#inside++;
    return this.#round;
  }

  leave(): void {
    this.#inside--;
    this.#loadWhenEmpty();
  }

  /** The claims of `round` are lost. A report about an earlier round is ignored. */
  claimsLost(round: number = this.#round): void {
    if (!this.#isOpen || round !== this.#round) return;
    this.#isOpen = false;
    this.#loadWhenEmpty();
  }

  #loadWhenEmpty(): void {
    if (this.#isOpen || this.#isLoading || this.#inside > 0) return;
    this.#isLoading = true;
    this.#load().then(() => {
      this.#isLoading = false;
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
