/** Ends a pause early: the stream put something into the queue that can be attempted at once. */
export class WakeSignal {
  #isRung = false;
  #wake: (() => void) | undefined;

  notify(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  /** Waits until it is rung (also when it was rung before), the signal aborts, or `ms` are over. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isRung && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      const wake = () => resolve(undefined);
      this.#wake = wake;
      const timer = setTimeout(wake, ms);
      signal.addEventListener('abort', wake, { once: true });
      await promise;
      clearTimeout(timer);
      signal.removeEventListener('abort', wake);
      this.#wake = undefined;
    }
    this.#isRung = false;
  }
}
