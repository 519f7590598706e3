/**
 * Limits the attempts in flight over all endpoints. Failing or slow endpoints get at most half of
 * them, so that they cannot starve the others.
 */
export class ConcurrencyLimit {
  readonly #max: number;
  #inUse = 0;
  #inUseByFailing = 0;
  /** Callers that found no permit, in their order. */
  readonly #waiters = new Set<() => void>();

  constructor(max: number) {
    this.#max = max;
  }

  get inUse(): number {
    return this.#inUse;
  }

  /** Returns the release of a permit, or undefined and calls `retry` when one is free. */
  acquire(options: { isFailing: boolean; retry: () => void }): (() => void) | undefined {
    const { isFailing, retry } = options;
    if (this.#inUse >= this.#max || (isFailing && this.#inUseByFailing >= this.#max / 2)) {
      this.#waiters.add(retry);
      return undefined;
    }
    this.#inUse++;
    if (isFailing) this.#inUseByFailing++;
    return () => {
      this.#inUse--;
      if (isFailing) this.#inUseByFailing--;
      this.#wakeWaiters();
    };
  }

  #wakeWaiters(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const retry of waiters) retry();
  }
}
