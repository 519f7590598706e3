import { visitsPerSweep } from '../../events/claims/sweep.ts';
import { asError } from './retry-until-answered.ts';
import type { ClaimStore, SweepProgress, SweepReport } from './claim-store.ts';

const INTERVAL_MS = 2_000;
/** Buckets of a shard in one call, which blocks Redis for a few milliseconds at most. */
const MAX_VISITS = 64;
/** Of buckets that had more claims than this in the last call, a quarter. */
const MAX_SEEN = 1024;
/** Visits in one sweep of a shard; with more buckets a round only takes longer. */
const MAX_SWEPT = 4096;

interface SweeperOptions {
  readonly store: Pick<ClaimStore, 'shards' | 'sweep'>;
  /** ms */
  readonly dedupeTtl: number;
  /** Number of partitions of the topic. */
  readonly partitions: number;
  readonly progress: () => SweepProgress;
  /** Called after each call that swept buckets. */
  readonly onSwept?: (report: SweepReport) => void;
  /** May be called every two seconds until ensureLoaded is called. */
  readonly onLost: () => void;
  readonly onError: (error: Error) => void;
}

/**
 * Visits a few buckets every two seconds, packs the claims of stored events, and removes claims
 * soon after they leave the window: a round over all buckets takes a 32nd of it. Every normaliser
 * runs a sweeper; they share the cursor. A normaliser without traffic detects through it that Redis
 * lost the claims.
 */
export class Sweeper {
  readonly #options: SweeperOptions;
  #timer: NodeJS.Timeout | null = null;
  #sweeping: Promise<void> = Promise.resolve();
  /** By shard: buckets, and how many to visit in the next call. */
  readonly #buckets = new Map<number, number>();
  readonly #visits = new Map<number, number>();

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

  /** A shard that does not answer keeps no other from being swept. */
  async #sweep(): Promise<void> {
    const { store, onLost, onError } = this.#options;
    const errors: Error[] = [];
    for (let shard = 0; shard < store.shards; shard += 1)
      try {
        if ((await this.#sweepShard(shard)) !== 'lost') continue;
        onLost();
        break;
      } catch (error) {
        errors.push(asError(error));
      }
    const [first] = errors;
    if (first) onError(first);
  }

  async #sweepShard(shard: number): Promise<'swept' | 'lost'> {
    const { store, dedupeTtl, partitions, progress, onSwept } = this.#options;
    const buckets = this.#buckets.get(shard) ?? 0;
    let left = visitsPerSweep({ buckets, dedupeTtl, every: INTERVAL_MS, max: MAX_SWEPT });
    while (left > 0 && this.#timer !== null) {
      const visits = Math.min(left, this.#visits.get(shard) ?? MAX_VISITS);
      left -= visits;
      const report = await store.sweep({
        ...{ shard, now: Date.now(), visits },
        ...{ partitions, progress: progress() },
      });
      if (report.status === 'lost') return 'lost';
      this.#buckets.set(shard, report.buckets);
      if (report.visited > 0) this.#visits.set(shard, visitsAfter(report));
      onSwept?.(report);
    }
    return 'swept';
  }
}

function visitsAfter({ seen, visited }: SweepReport): number {
  return (seen / visited) * MAX_VISITS > MAX_SEEN ? MAX_VISITS / 4 : MAX_VISITS;
}
