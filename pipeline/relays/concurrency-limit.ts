interface PermitRequest {
  accountId: number;
  /** The endpoint has answered quickly of late (latency.ts) and does not fail. */
  isQuick: boolean;
}

interface InUse {
  all: number;
  /** Of endpoints that are not quick. */
  others: number;
}

/**
 * Limits the attempts in flight over all endpoints. Half of the permits are reserved for quick
 * endpoints. An account gets at most half of the permits, and for endpoints that are not quick a
 * quarter; those that wait for a permit get one by turns of their accounts. So an account whose
 * endpoints do not answer leaves permits of either kind to the others.
 */
export class ConcurrencyLimit {
  readonly #max: number;
  readonly #inUse: InUse = { all: 0, others: 0 };
  readonly #byAccount = new Map<number, InUse>();
  /** Callers that found no permit, by account; the account whose turn is next is first. */
  readonly #waiting = new Map<number, Map<() => void, PermitRequest>>();

  constructor(max: number) {
    this.#max = max;
  }

  get inUse(): number {
    return this.#inUse.all;
  }

  /** Permits that are free for endpoints that are not quick, over all accounts. */
  get freeForOthers(): number {
    return Math.max(0, Math.min(this.#max - this.#inUse.all, this.#max / 2 - this.#inUse.others));
  }

  /** Permits that endpoints of this kind of this account could get now. */
  free({ accountId, isQuick }: PermitRequest): number {
    const account = this.#byAccount.get(accountId) ?? { all: 0, others: 0 };
    const free = Math.max(0, Math.min(this.#max - this.#inUse.all, this.#max / 2 - account.all));
    if (isQuick) return free;
    return Math.max(0, Math.min(free, this.freeForOthers, this.#max / 4 - account.others));
  }

  /** Returns the release of a permit, or undefined and calls `retry` when one is free. */
  acquire({ retry, ...request }: PermitRequest & { retry: () => void }): (() => void) | undefined {
    if (this.free(request) < 1) {
      const waiting = this.#waiting.get(request.accountId) ?? new Map<() => void, PermitRequest>();
      this.#waiting.set(request.accountId, waiting.set(retry, request));
      return undefined;
    }
    this.#count(request, 1);
    return () => {
      this.#count(request, -1);
      this.#wakeNext();
    };
  }

  #count({ accountId, isQuick }: PermitRequest, by: 1 | -1): void {
    const account = this.#byAccount.get(accountId) ?? { all: 0, others: 0 };
    for (const inUse of [this.#inUse, account]) {
      inUse.all += by;
      if (!isQuick) inUse.others += by;
    }
    if (account.all > 0) this.#byAccount.set(accountId, account);
    else this.#byAccount.delete(accountId);
  }

  /** One caller of each account, in turn, until no permit is free. */
  #wakeNext(): void {
    let accounts = this.#waiting.size;
    for (const [accountId, waiting] of this.#waiting) {
      if (accounts-- === 0 || this.#inUse.all >= this.#max) return;
      const next = [...waiting].find(([, request]) => this.free(request) >= 1);
      if (!next) continue;
      const [retry] = next;
      waiting.delete(retry);
      this.#waiting.delete(accountId);
      if (waiting.size > 0) this.#waiting.set(accountId, waiting);
      // Without a permit it waits again.
      retry();
    }
  }
}
