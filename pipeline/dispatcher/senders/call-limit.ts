export interface CallLimits {
  /** Open calls of this process. */
  calls: number;
}

/** Whose calls they are. */
export interface CallShare {
  accountId: number;
  /** The sender has answered quickly of late, and does not fail. */
  isQuick: boolean;
}

interface Used {
  all: number;
  /** Of senders that are not quick. */
  slow: number;
}

/**
 * Limits the calls that are open over all senders. Half of them are reserved for quick senders; an
 * account gets at most half, and a quarter for senders that are not quick. So those that do not
 * answer leave room for the others.
 */
export class CallLimit {
  readonly #max: number;
  readonly #used: Used = { all: 0, slow: 0 };
  readonly #byAccount = new Map<number, Used>();

  constructor({ calls }: CallLimits) {
    this.#max = calls;
  }

  get used(): number {
    return this.#used.all;
  }

  free({ accountId, isQuick }: CallShare): number {
    const own = this.#byAccount.get(accountId) ?? { all: 0, slow: 0 };
    const free = Math.min(this.#max - this.#used.all, this.#max / 2 - own.all);
    if (isQuick) return Math.max(0, Math.floor(free));
    const slow = Math.min(this.#max / 2 - this.#used.slow, this.#max / 4 - own.slow);
    return Math.max(0, Math.floor(Math.min(free, slow)));
  }

  /** A negative number gives permits back. */
  change({ accountId, isQuick }: CallShare, by: number): void {
    const own = this.#byAccount.get(accountId) ?? { all: 0, slow: 0 };
    for (const used of [this.#used, own]) {
      used.all += by;
      if (!isQuick) used.slow += by;
    }
    if (own.all > 0) this.#byAccount.set(accountId, own);
    else this.#byAccount.delete(accountId);
  }
}
