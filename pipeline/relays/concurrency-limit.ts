import { CallLimit, type CallShare } from '../../platform/call-limit.ts';

/**
 * Limits the attempts in flight over all endpoints (CallLimit). Attempts that find no permit get
 * one by turns of their accounts.
 */
export class ConcurrencyLimit {
  readonly #max: number;
  readonly #limit: CallLimit;
  /** Callers that found no permit, by account; the account whose turn is next is first. */
  readonly #waiting = new Map<number, Map<() => void, CallShare>>();

  constructor(max: number) {
    this.#max = max;
    this.#limit = new CallLimit({ calls: max });
  }

  get inUse(): number {
    return this.#limit.used;
  }

  /** Permits that are free for endpoints that are not quick, over all accounts. */
  get freeForOthers(): number {
    return this.#limit.freeForSlow;
  }

  /** Permits that endpoints of this kind of this account could get now. */
  free(share: CallShare): number {
    return this.#limit.free(share);
  }

  /** Returns the release of a permit, or undefined and calls `retry` when one is free. */
  acquire({ retry, ...share }: CallShare & { retry: () => void }): (() => void) | undefined {
    if (this.free(share) < 1) {
      const waiting = this.#waiting.get(share.accountId) ?? new Map<() => void, CallShare>();
      this.#waiting.set(share.accountId, waiting.set(retry, share));
      return undefined;
    }
    this.#limit.change(share, 1);
    return () => {
      this.#limit.change(share, -1);
      this.#wakeNext();
    };
  }

  /** One caller of each account, in turn, until no permit is free. */
  #wakeNext(): void {
    let accounts = this.#waiting.size;
    for (const [accountId, waiting] of this.#waiting) {
      if (accounts-- === 0 || this.#limit.used >= this.#max) return;
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
