import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import type { Outcome } from './delivery.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { RelayStore } from './store.ts';

/** Most outcomes of one statement. */
const BATCH = 500;
/** Outcomes gather this long, ms. */
const GATHER_MS = 20;

/**
 * Writes what became of rows in hand, many at once. Rows that are in hand are known by their ids,
 * so that none is taken twice.
 */
export class OutcomeWriter {
  readonly #parts: { store: Pick<RelayStore, 'finish'>; log: Log; signal: AbortSignal };
  readonly #inHand = new Set<number>();
  readonly #written: { id: number; outcome: Outcome }[] = [];
  #isWriting = false;

  constructor(parts: { store: Pick<RelayStore, 'finish'>; log: Log; signal: AbortSignal }) {
    this.#parts = parts;
  }

  has(id: number): boolean {
    return this.#inHand.has(id);
  }

  get size(): number {
    return this.#inHand.size;
  }

  /** Takes a row in hand until its outcome is written. */
  follow(id: number, outcome: Promise<Outcome>): void {
    this.#inHand.add(id);
    void outcome.then((found) => {
      this.#written.push({ id, outcome: found });
      if (!this.#isWriting) void this.#write();
    });
  }

  /** Waits until what is known is written, at most `ms`. */
  async drain(ms: number): Promise<void> {
    const deadline = Date.now() + ms;
    while (this.#inHand.size > 0 && Date.now() < deadline) await delay(20);
  }

  async #write(): Promise<void> {
    const { store, log, signal } = this.#parts;
    this.#isWriting = true;
    while (this.#written.length > 0) {
      if (this.#written.length < BATCH) await delay(GATHER_MS);
      const batch = this.#written.splice(0, BATCH);
      // Not written because the process ends: the leases run out, and the rows are attempted again.
      await retryUntilAborted(
        { log, signal, code: 'postgres_unreachable', what: 'writing outcomes of the relay queue' },
        () => store.finish(batch),
      ).catch(() => undefined);
      for (const { id } of batch) this.#inHand.delete(id);
    }
    this.#isWriting = false;
  }
}
