import { visitsPerSweep } from '../../events/claims/sweep.ts';
import { asError } from './retry-until-answered.ts';
import type { ClaimStore, SweepProgress, SweepReport } from './claim-store.ts';

const INTERVAL_MS = 1_000;
/** Buckets in one call, which blocks Redis for about a millisecond. */
const MAX_VISITS = 64;
/** Calls in one sweep; with more buckets a round only takes longer. */
const MAX_CALLS = 32;

/**
 * Visits a few buckets every second and removes claims soon after they leave the window: a round
 * over all buckets takes a sixteenth of it. Every normaliser runs a sweeper; they share the cursor.
 * A normaliser without traffic detects through it that Redis lost the claims.
 */
export class Sweeper {
  readonly #store: ClaimStore;
  readonly #dedupeTtl: number;
  readonly #partitions: number;
  readonly #progress: () => SweepProgress;
  readonly #onLost: () => void;
  readonly #onError: (error: Error) => void;
  #timer: NodeJS.Timeout | null = null;
  #sweeping: Promise<void> = Promise.resolve();
  #buckets = 0;

  /**
   * dedupeTtl in ms. partitions: number of partitions of the topic. onLost may be called every
   * second until ensureLoaded is called.
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
      this.#sweeping = this.#sweep().finally(() => {
        if (this.#timer === null) return;
        this.#timer = null;
        this.start();
      });
    }, INTERVAL_MS);
  }

  /** Resolves when the current sweep has ended. */
  async stop(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#sweeping;
  }

  async #sweep(): Promise<void> {
    try {
      for (
        let left = visitsPerSweep({
          buckets: this.#buckets,
          dedupeTtl: this.#dedupeTtl,
          every: INTERVAL_MS,
          max: MAX_VISITS * MAX_CALLS,
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
