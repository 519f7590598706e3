export interface FairQueueOptions {
  /** Jobs that run at once. */
  concurrency: number;
  /** Of these, jobs of one account; absent: all of them. */
  concurrencyPerAccount?: number;
  /** Jobs that wait, over all accounts and of one account. */
  maxWaiting: { total: number; perAccount: number };
}

/**
 * Runs a bounded number of jobs at once. Those that wait take turns by account: an account with
 * many jobs delays another's by the jobs that run and one job of each account, however many it has.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  /** Waiting jobs by account; the first account is the next in turn. */
  readonly #waiting = new Map<number, (() => void)[]>();
  readonly #runningOf = new Map<number, number>();
  #running = 0;
  waiting = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  /** Undefined when too many jobs wait already: the job is not run. */
  run<T>(account: number, job: () => Promise<T>): Promise<T> | undefined {
    if (this.#mayStart(account)) return this.#start(account, job);
    const { total, perAccount } = this.#options.maxWaiting;
    const own = this.#waiting.get(account);
    if (this.waiting >= total || (own?.length ?? 0) >= perAccount) return undefined;
    this.waiting++;
    return new Promise<T>((resolve) => {
      const start = () => resolve(this.#start(account, job));
      if (own) own.push(start);
      else this.#waiting.set(account, [start]);
    });
  }

  #mayStart(account: number): boolean {
    const { concurrency, concurrencyPerAccount = concurrency } = this.#options;
    const own = this.#runningOf.get(account) ?? 0;
    return this.#running < concurrency && own < concurrencyPerAccount;
  }

  async #start<T>(account: number, job: () => Promise<T>): Promise<T> {
    this.#running++;
    this.#runningOf.set(account, (this.#runningOf.get(account) ?? 0) + 1);
    try {
      return await job();
    } finally {
      this.#running--;
      const own = (this.#runningOf.get(account) ?? 0) - 1;
      if (own > 0) this.#runningOf.set(account, own);
      else this.#runningOf.delete(account);
      this.#next();
    }
  }

  #next(): void {
    for (const [account, jobs] of this.#waiting) {
      if (!this.#mayStart(account)) continue;
      this.#waiting.delete(account);
      const start = jobs.shift();
      if (jobs.length > 0) this.#waiting.set(account, jobs);
      if (!start) continue;
      this.waiting--;
      return start();
    }
  }
}
