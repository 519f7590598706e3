interface CallLimits {
  /** Open calls of this process. */
  calls: number;
}

/** Whose calls they are. */
export interface CallShare {
  accountId: number;
  /** The provider or endpoint has answered quickly of late, and does not fail. */
  isQuick: boolean;
}

interface Used {
  all: number;
  /** To those who are not quick. */
  slow: number;
}

/**
 * Limits the calls that are open over all accounts. Half of them are reserved for those who answer
 * quickly; an account gets at most half, and a quarter for those who do not. So whoever does not
 * answer leaves room for the others.
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

  /** Calls to those who are not quick that could be opened over all accounts. */
  get freeForSlow(): number {
    return whole(Math.min(this.#max - this.#used.all, this.#max / 2 - this.#used.slow));
  }

  /** Calls of this kind that the account could open now. */
  free({ accountId, isQuick }: CallShare): number {
    const own = this.#byAccount.get(accountId) ?? { all: 0, slow: 0 };
    const free = Math.min(this.#max - this.#used.all, this.#max / 2 - own.all);
    return whole(isQuick ? free : Math.min(free, this.freeForSlow, this.#max / 4 - own.slow));
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

function whole(free: number): number {
  return Math.max(0, Math.floor(free));
}
