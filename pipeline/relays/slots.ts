/**
 * Attempts that may go on at the same time, in all. Endpoints in trouble get at most half of them,
 * so that they cannot take everybody's.
 */
export class Slots {
  readonly #total: number;
  #used = 0;
  #inTrouble = 0;
  /** Who found no slot, in the order of asking. */
  readonly #starved = new Set<() => void>();

  constructor(total: number) {
    this.#total = total;
  }

  get used(): number {
    return this.#used;
  }

  /**
   * Answers what gives the slot back; undefined when there is none: `retry` is called once there
   * may be one.
   */
  take(options: { isInTrouble: boolean; retry: () => void }): (() => void) | undefined {
    const { isInTrouble, retry } = options;
    if (this.#used >= this.#total || (isInTrouble && this.#inTrouble >= this.#total / 2)) {
      this.#starved.add(retry);
      return undefined;
    }
    this.#used++;
    if (isInTrouble) this.#inTrouble++;
    return () => {
      this.#used--;
      if (isInTrouble) this.#inTrouble--;
      this.#wake();
    };
  }

  #wake(): void {
    const waiting = [...this.#starved];
    this.#starved.clear();
    for (const retry of waiting) retry();
  }
}
