interface Rates {
  /** Successes of one relay that are logged in a second. */
  loggedPerRelay: number;
  /** Of all relays together. */
  logged: number;
}

/**
 * Chooses the successes that the delivery log shows: those of a relay one by one up to a rate; the
 * others are only counted by hour.
 */
export class SuccessLog {
  readonly #rates: Rates;
  #second = Number.NaN;
  #logged = 0;
  readonly #byRelay = new Map<number, number>();

  constructor(rates: Rates) {
    this.#rates = rates;
  }

  /** @param now ms */
  admits(relayId: number, now: number): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#logged = 0;
      this.#byRelay.clear();
    }
    const ofRelay = this.#byRelay.get(relayId) ?? 0;
    if (ofRelay >= this.#rates.loggedPerRelay || this.#logged >= this.#rates.logged) return false;
    this.#byRelay.set(relayId, ofRelay + 1);
    this.#logged++;
    return true;
  }
}
