import { visitsPerTurn } from '../../events/claims/sweep.ts';
import { asError } from './retry-until-answered.ts';
import type { ClaimStore, SweepProgress, SweepReport } from './claim-store.ts';

const EVERY_MS = 1_000;
/** Buckets in one call: about a millisecond of Redis. */
const MAX_VISITS = 64;
/** Calls in one turn; more buckets than this only make a round longer. */
const MAX_CALLS = 32;

/**
 * Walks over all buckets, a few every second, so that claims leave Redis soon after they have left
 * the window: one round takes about a sixteenth of it. Every normaliser runs one; they share the
 * walk. It is also how a normaliser without traffic learns that Redis was emptied.
 */
export class Sweeper {
  readonly #store: ClaimStore;
  readonly #dedupeTtl: number;
  readonly #partitions: number;
  readonly #progress: () => SweepProgress;
  readonly #onLost: () => void;
  readonly #onError: (error: Error) => void;
  #timer: NodeJS.Timeout | null = null;
  #turn: Promise<void> = Promise.resolve();
  #buckets = 0;

  /**
   * dedupeTtl in ms. partitions: how many there are in all. onLost may be called again every second
   * until ensureFilled has been called.
   */
  constructor(options: {
    readonly store: ClaimStore;
    readonly dedupeTtl: number;
    readonly partitions: number;
    readonly progress: () => SweepProgress;
    readonly onLost: () => void;
    readonly onError: (error: Error) => void;
  }) {
    this.#store = options.store;
    this.#dedupeTtl = options.dedupeTtl;
    this.#partitions = options.partitions;
    this.#progress = options.progress;
    this.#onLost = options.onLost;
    this.#onError = options.onError;
  }

  start(): void {
    this.#timer ??= setTimeout(() => {
      this.#turn = this.#sweep().finally(() => {
        if (this.#timer === null) return;
        this.#timer = null;
        this.start();
      });
    }, EVERY_MS);
  }

  /** Resolves when the turn under way has ended. */
  async stop(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#turn;
  }

  async #sweep(): Promise<void> {
    try {
      for (
        let left = visitsPerTurn({
          buckets: this.#buckets,
          dedupeTtl: this.#dedupeTtl,
          every: EVERY_MS,
          most: MAX_VISITS * MAX_CALLS,
        });
        left > 0 && this.#timer !== null;
        left -= MAX_VISITS
      ) {
        const report = await this.#call(Math.min(left, MAX_VISITS));
        this.#buckets = report.buckets;
        if (report.status === 'lost') {
          this.#onLost();
          return;
        }
      }
    } catch (error) {
      this.#onError(asError(error));
    }
  }

  #call(visits: number): Promise<SweepReport> {
    return this.#store.sweep({
      now: Date.now(),
      visits,
      partitions: this.#partitions,
      progress: this.#progress(),
    });
  }
}
