/** Deliveries in progress, with a bound per account. */
export class DeliveriesInProgress {
  readonly #max: number;
  readonly #byAccount = new Map<number, number>();

  /** @param max deliveries of one account */
  constructor(max: number) {
    this.#max = max;
  }

  /** False: the account has as many in progress as it may. */
  begin(accountId: number): boolean {
    const before = this.#byAccount.get(accountId) ?? 0;
    if (before >= this.#max) return false;
    this.#byAccount.set(accountId, before + 1);
    return true;
  }

  end(accountId: number): void {
    const left = (this.#byAccount.get(accountId) ?? 1) - 1;
    if (left > 0) this.#byAccount.set(accountId, left);
    else this.#byAccount.delete(accountId);
  }
}
