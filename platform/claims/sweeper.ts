import { visitsPerSweep } from '../../events/claims/sweep.ts';
import { asError } from './retry-until-answered.ts';
import type { ClaimStore, SweepProgress } from './claim-store.ts';

const INTERVAL_MS = 2_000;
/** Buckets in one call, which blocks Redis for about a millisecond. */
const MAX_VISITS = 64;
/** Calls in one sweep; with more buckets a round only takes longer. */
const MAX_CALLS = 64;

interface SweeperOptions {
  readonly store: ClaimStore;
  /** ms */
  readonly dedupeTtl: number;
  /** Number of partitions of the topic. */
  readonly partitions: number;
  readonly progress: () => SweepProgress;
  /** May be called every two seconds until ensureLoaded is called. */
  readonly onLost: () => void;
  readonly onError: (error: Error) => void;
}

/**
 * Visits a few buckets every two seconds and removes claims soon after they leave the window: a
 * round over all buckets takes a sixteenth of it. Every normaliser runs a sweeper; they share the
 * cursor. A normaliser without traffic detects through it that Redis lost the claims.
 */
export class Sweeper {
  readonly #options: SweeperOptions;
  #timer: NodeJS.Timeout | null = null;
  #sweeping: Promise<void> = Promise.resolve();
  #buckets = 0;

  constructor(options: SweeperOptions) {
    this.#options = options;
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
    const { store, dedupeTtl, partitions, progress, onLost, onError } = this.#options;
    const max = MAX_VISITS * MAX_CALLS;
    try {
      let left = visitsPerSweep({ buckets: this.#buckets, dedupeTtl, every: INTERVAL_MS, max });
      for (; left > 0 && this.#timer !== null; left -= MAX_VISITS) {
        const visits = Math.min(left, MAX_VISITS);
        const report = await store.sweep({
          now: Date.now(),
          visits,
          partitions,
          progress: progress(),
        });
        this.#buckets = report.buckets;
        if (report.status === 'lost') {
          onLost();
          return;
        }
      }
    } catch (error) {
      onError(asError(error));
    }
  }
}
