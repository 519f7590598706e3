/** An account has as many queries waiting as it may; the caller should wait before the next one. */
export class AccountBusy extends Error {
  override readonly name = 'AccountBusy';
}

export interface SlotLimits {
  /** Work of all accounts that runs at a time. */
  total: number;
  /** Work of one account that runs at a time. */
  perAccount: number;
  /** Work of one account that waits for a slot. */
  waiting: number;
}

interface Waiter {
  start: (rank: number) => void;
}

/**
 * Slots that accounts share. An account that has work waiting gets the next free slot in its turn:
 * round robin over accounts, first come first served within one. So the work of an account waits
 * for at most one turn of each other account, however much they have queued.
 */
export class AccountSlots {
  readonly #limits: SlotLimits;
  /** Ranks in use, by account. */
  readonly #running = new Map<number, Set<number>>();
  /** Accounts with waiting work in the order of their turns. */
  readonly #waiting = new Map<number, Waiter[]>();
  #used = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  get counts(): { running: number; waiting: number } {
    const waiting = [...this.#waiting.values()].reduce((sum, queue) => sum + queue.length, 0);
    return { running: this.#used, waiting };
  }

  /**
   * Runs the work in a slot of its account. Its rank is 1 when nothing else of the account runs,
   * otherwise the lowest that is free. Rejects with AccountBusy, with the reason of the signal when
   * that aborts while the work waits, or as the work rejects.
   */
  async run<T>(
    { accountId, signal }: { accountId: number; signal: AbortSignal },
    work: (rank: number) => Promise<T>,
  ): Promise<T> {
    const rank = await this.#enter(accountId, signal);
    try {
      return await work(rank);
    } finally {
      this.#leave(accountId, rank);
    }
  }

  async #enter(accountId: number, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    // Free slots stay free only while no account with waiting work may have one.
    if (this.#used < this.#limits.total && this.#mayRun(accountId)) return this.#take(accountId);
    const queue = this.#waiting.get(accountId) ?? [];
    if (queue.length >= this.#limits.waiting)
      throw new AccountBusy(`account ${accountId} has ${queue.length} queries waiting`);
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const waiter: Waiter = { start: resolve };
    const abandon = () => {
      this.#remove(accountId, waiter);
      reject(signal.reason as Error);
    };
    queue.push(waiter);
    this.#waiting.set(accountId, queue);
    signal.addEventListener('abort', abandon, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', abandon);
    }
  }

  #leave(accountId: number, rank: number): void {
    this.#used--;
    const ranks = this.#running.get(accountId);
    ranks?.delete(rank);
    if (ranks?.size === 0) this.#running.delete(accountId);
    this.#startNext();
  }

  #startNext(): void {
    for (const [accountId, queue] of this.#waiting) {
      if (!this.#mayRun(accountId)) continue;
      const next = queue.shift();
      this.#waiting.delete(accountId);
      if (queue.length > 0) this.#waiting.set(accountId, queue);
      next?.start(this.#take(accountId));
      return;
    }
  }

  #mayRun(accountId: number): boolean {
    return (this.#running.get(accountId)?.size ?? 0) < this.#limits.perAccount;
  }

  #take(accountId: number): number {
    const ranks = this.#running.get(accountId) ?? new Set();
    let rank = 1;
    while (ranks.has(rank)) rank++;
    ranks.add(rank);
    this.#running.set(accountId, ranks);
    this.#used++;
    return rank;
  }

  #remove(accountId: number, waiter: Waiter): void {
    const queue = this.#waiting.get(accountId);
    if (!queue?.includes(waiter)) return;
    queue.splice(queue.indexOf(waiter), 1);
    if (queue.length === 0) this.#waiting.delete(accountId);
  }
}
