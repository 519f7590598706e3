/** For so long an account counts as large, ms. */
const REMEMBERED_MS = 900_000;
/** Accounts that are remembered. */
const MAX_ACCOUNTS = 10_000;

/**
 * Accounts of which a report had too many events to be computed here: for some minutes their
 * reports of the same range, or of a longer one, run as one statement at once. This decides what an
 * answer costs, and nothing else.
 */
export class LargeReports {
  readonly #now: () => number;
  readonly #known = new Map<number, { rangeMs: number; until: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    return this.#known.size;
  }

  has(accountId: number, rangeMs: number): boolean {
    const known = this.#known.get(accountId);
    return known !== undefined && this.#now() < known.until && known.rangeMs <= rangeMs;
  }

  add(accountId: number, rangeMs: number): void {
    const now = this.#now();
    const known = this.#known.get(accountId);
    const shortest = known && now < known.until ? Math.min(known.rangeMs, rangeMs) : rangeMs;
    this.#known.delete(accountId);
    this.#known.set(accountId, { rangeMs: shortest, until: now + REMEMBERED_MS });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MAX_ACCOUNTS) break;
      this.#known.delete(oldest);
    }
  }
}
