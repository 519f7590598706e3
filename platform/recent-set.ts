interface Generation {
  /** When each text expires. */
  until: Map<string, number>;
  since: number;
  /** When the last of them expires. */
  lastUntil: number;
}

const startAt = (since: number): Generation => ({
  until: new Map(),
  since,
  lastUntil: -Infinity,
});

/**
 * Texts that were added recently: each for `keepFor` ms, and at most `capacity` of them; then the
 * oldest half is dropped. Two generations instead of a queue: nothing is moved or searched.
 */
export class RecentSet {
  readonly #half: number;
  readonly #keepFor: number;
  #young = startAt(-Infinity);
  #old = startAt(-Infinity);

  constructor({ capacity, keepFor }: { capacity: number; keepFor: number }) {
    this.#half = Math.max(1, Math.floor(capacity / 2));
    this.#keepFor = keepFor;
  }

  get size(): number {
    return this.#young.until.size + this.#old.until.size;
  }

  has(text: string, now: number): boolean {
    const until = this.#young.until.get(text) ?? this.#old.until.get(text);
    return until !== undefined && now < until;
  }

  add(text: string, now: number): void {
    this.dropExpired(now);
    if (this.#young.until.size >= this.#half) this.#rotate(now);
    this.#old.until.delete(text);
    this.#young.lastUntil = now + this.#keepFor;
    this.#young.until.set(text, this.#young.lastUntil);
  }

  /** Drops generations whose texts have all expired. */
  dropExpired(now: number): void {
    if (now - this.#young.since >= this.#keepFor) this.#rotate(now);
    if (now >= this.#old.lastUntil) this.#old = startAt(now);
  }

  #rotate(now: number): void {
    this.#old = this.#young;
    this.#young = startAt(now);
  }
}
