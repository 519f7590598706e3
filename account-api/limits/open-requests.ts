/**
 * Bounds the requests of an account that are being served: bodies and answers in memory. A request
 * counts until its answer is written or its connection closes.
 */
export class OpenRequests {
  readonly #max: number;
  readonly #open = new Map<number, number>();

  /** @param max requests of one account at a time */
  constructor(max: number) {
    this.#max = max;
  }

  /** Counts a request; false when the account has as many as it may. */
  enter(accountId: number): boolean {
    const open = this.#open.get(accountId) ?? 0;
    if (open >= this.#max) return false;
    this.#open.set(accountId, open + 1);
    return true;
  }

  /** The end of a request that entered. */
  leave(accountId: number): void {
    const left = (this.#open.get(accountId) ?? 0) - 1;
    if (left > 0) this.#open.set(accountId, left);
    else this.#open.delete(accountId);
  }
}
