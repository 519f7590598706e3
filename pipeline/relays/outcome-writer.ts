import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { Outcome } from './delivery.ts';
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

/**
 * Writes the outcomes of rows in flight in batches. It knows the rows by their ids, so that none is
 * attempted twice at the same time.
 */
export class OutcomeWriter {
  readonly #deps: OutcomeWriterDeps;
  readonly #inFlight = new Set<number>();
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

  /** The row is in flight until its outcome is written. */
  track(id: number, outcome: Promise<Outcome>): void {
    this.#inFlight.add(id);
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
      for (const { id } of batch) this.#inFlight.delete(id);
    }
    this.#isWriting = false;
  }
}
