/** An account; or the network of a client, as text, while the account is unknown. */
export type RequestOwner = number | string;

/** Requests in progress, with a bound per owner. */
export class RequestsInProgress {
  readonly #max: number;
  readonly #byOwner = new Map<RequestOwner, number>();

  /** @param max requests of one owner */
  constructor(max: number) {
    this.#max = max;
  }

  /** False: the owner has as many in progress as it may. */
  begin(owner: RequestOwner): boolean {
    const before = this.#byOwner.get(owner) ?? 0;
    if (before >= this.#max) return false;
    this.#byOwner.set(owner, before + 1);
    return true;
  }

  end(owner: RequestOwner): void {
    const left = (this.#byOwner.get(owner) ?? 1) - 1;
    if (left > 0) this.#byOwner.set(owner, left);
    else this.#byOwner.delete(owner);
  }
}
