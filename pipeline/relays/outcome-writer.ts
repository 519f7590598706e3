import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { Delivery, Outcome } from './delivery.ts';
import type { DeliveryLog } from './delivery-log.ts';
import type { FinishedDelivery, RelayStore } from './store.ts';

/** Maximum number of outcomes per statement. */
const BATCH_OUTCOMES = 500;
/** How long outcomes are collected for a batch, ms. */
const LINGER_MS = 20;

interface OutcomeWriterDeps {
  store: Pick<RelayStore, 'finish'>;
  deliveryLog: Pick<DeliveryLog, 'refresh' | 'keeps'>;
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
  readonly #pending: { id: number; delivery: Delivery; outcome: Outcome }[] = [];
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
  track(id: number, delivery: Delivery, outcome: Promise<Outcome>): void {
    const { accountId, payload } = delivery;
    const held = { accountId, bytes: payload.length };
    this.#inFlight.set(id, held);
    this.#count(held, 1);
    void outcome.then((found) => {
      this.#pending.push({ id, delivery, outcome: found });
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
    const { store, deliveryLog, log, signal } = this.#deps;
    this.#isWriting = true;
    while (this.#pending.length > 0) {
      if (this.#pending.length < BATCH_OUTCOMES) await delay(LINGER_MS);
      const batch = this.#pending.splice(0, BATCH_OUTCOMES);
      let finished: FinishedDelivery[] | undefined;
      // Rejects only when the process ends: the leases expire, and the rows are attempted again.
      await retryUntilAborted(
        { log, signal, code: 'postgres_unreachable', what: 'writing outcomes of the relay queue' },
        async () => {
          await deliveryLog.refresh();
          finished ??= batch.map(({ id, delivery, outcome }) => ({
            ...{ id, outcome, isKept: deliveryLog.keeps(delivery, outcome) },
          }));
          await store.finish(finished);
        },
      ).catch(() => undefined);
      for (const { id } of batch) this.#remove(id);
    }
    this.#isWriting = false;
  }
}
