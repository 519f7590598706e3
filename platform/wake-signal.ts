/** Ends a pause early. */
export class WakeSignal {
  #isNotified = false;
  #wake: (() => void) | undefined;

  notify(): void {
    this.#isNotified = true;
    this.#wake?.();
  }

  /**
   * Waits for a notification (one before the call counts), until the signal aborts, at most `ms`.
   */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isNotified && !signal.aborted) {
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
    this.#isNotified = false;
  }
}
