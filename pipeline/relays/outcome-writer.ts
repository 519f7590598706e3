import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { Delivery, Outcome } from './delivery.ts';
import type { RelayStore } from './store.ts';

/** Maximum number of outcomes per statement. */
const BATCH_OUTCOMES = 500;
/** How long outcomes are collected for a batch, ms. */
const LINGER_MS = 20;

interface OutcomeWriterDeps {
  store: Pick<RelayStore, 'finish'>;
  log: Log;
  signal: AbortSignal;
}

/** What a row in flight holds in memory. */
interface InMemory {
  accountId: number;
  bytes: number;
}

/**
 * Writes the outcomes of rows in flight in batches. It knows the rows by their ids, so that none is
 * attempted twice at the same time.
 */
export class OutcomeWriter {
  readonly #deps: OutcomeWriterDeps;
  readonly #inFlight = new Map<number, InMemory>();
  readonly #byAccount = new Map<number, { rows: number; bytes: number }>();
  #bytes = 0;
  readonly #pending: { id: number; outcome: Outcome }[] = [];
  #isWriting = false;

  constructor(deps: OutcomeWriterDeps) {
    this.#deps = deps;
  }

  has(id: number): boolean {
    return this.#inFlight.has(id);
  }

  get size(): number {
    return this.#inFlight.size;
  }

  /** Payloads of the rows in flight, in characters. */
  get bytes(): number {
    return this.#bytes;
  }

  ofAccount(accountId: number): { readonly rows: number; readonly bytes: number } {
    return this.#byAccount.get(accountId) ?? { rows: 0, bytes: 0 };
  }

  /** The row is in flight until its outcome is written. */
  track(
    id: number,
    { accountId, payload }: Pick<Delivery, 'accountId' | 'payload'>,
    outcome: Promise<Outcome>,
  ): void {
    const held = { accountId, bytes: payload.length };
    this.#inFlight.set(id, held);
    this.#count(held, 1);
    void outcome.then((found) => {
      this.#pending.push({ id, outcome: found });
      if (!this.#isWriting) void this.#write();
    });
  }

  /** Waits until no row is in flight, at most `ms`. */
  async drain(ms: number): Promise<void> {
    const deadline = Date.now() + ms;
    while (this.#inFlight.size > 0 && Date.now() < deadline) await delay(20);
  }

  #count({ accountId, bytes }: InMemory, by: 1 | -1): void {
    const account = this.#byAccount.get(accountId) ?? { rows: 0, bytes: 0 };
    account.rows += by;
    account.bytes += by * bytes;
    this.#bytes += by * bytes;
    if (account.rows > 0) this.#byAccount.set(accountId, account);
    else this.#byAccount.delete(accountId);
  }

  #remove(id: number): void {
    const held = this.#inFlight.get(id);
    if (held && this.#inFlight.delete(id)) this.#count(held, -1);
  }

  async #write(): Promise<void> {
    const { store, log, signal } = this.#deps;
    this.#isWriting = true;
    while (this.#pending.length > 0) {
      if (this.#pending.length < BATCH_OUTCOMES) await delay(LINGER_MS);
      const batch = this.#pending.splice(0, BATCH_OUTCOMES);
      // Rejects only when the process ends: the leases expire, and the rows are attempted again.
      await retryUntilAborted(
        { log, signal, code: 'postgres_unreachable', what: 'writing outcomes of the relay queue' },
        () => store.finish(batch),
      ).catch(() => undefined);
      for (const { id } of batch) this.#remove(id);
    }
    this.#isWriting = false;
  }
}
