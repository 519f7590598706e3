/** Recipients before they are prepared: due, being prepared, or waiting for a time. */
export class RecipientQueue {
  #due: number[] = [];
  readonly #preparing = new Set<number>();
  /** Until when others wait, by index. */
  readonly #waiting = new Map<number, number>();

  get dueCount(): number {
    return this.#due.length;
  }

  get preparingCount(): number {
    return this.#preparing.size;
  }

  /** When the next wait ends, ms since the epoch. */
  get waitsUntil(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const until of this.#waiting.values()) next = Math.min(next, until);
    return next;
  }

  addDue(...indexes: readonly number[]): void {
    this.#due.push(...indexes);
  }

  /** @param until ms since the epoch */
  addWaiting(index: number, until: number): void {
    this.#waiting.set(index, until);
  }

  add(index: number, { at, now }: { at: number; now: number }): void {
    if (at > now) this.#waiting.set(index, at);
    else this.#due.push(index);
  }

  /** They are being prepared until `prepared` says that they are not. */
  take(max: number): number[] {
    const some = this.#due.splice(0, max);
    for (const index of some) this.#preparing.add(index);
    return some;
  }

  prepared(index: number): void {
    this.#preparing.delete(index);
  }

  /** Those who have waited long enough are due. */
  endWaits(now: number): void {
    for (const [index, until] of this.#waiting) {
      if (until > now) continue;
      this.#waiting.delete(index);
      this.#due.push(index);
    }
  }

  waitOf(index: number): number | undefined {
    return this.#waiting.get(index);
  }

  /** All but those that are being prepared. */
  takeAll(): number[] {
    const all = [...this.#due, ...this.#waiting.keys()];
    this.#due = [];
    this.#waiting.clear();
    return all;
  }
}
