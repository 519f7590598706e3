import type { Log } from '../../platform/log.ts';
import { ProfileCache } from '../../projections/profiles/cache.ts';
import type { ProfileMetrics } from '../../projections/profiles/metrics.ts';
import type { ProfileStore } from '../../projections/profiles/store.ts';
import { foldIn } from '../../projections/profiles/task.ts';
import type { EventRow } from '../../schemas/records.ts';
import type { Progress } from './pass.ts';
import type { JobNotes, Target } from './target.ts';

interface ProfilesTargetOptions {
  store: ProfileStore;
  log: Log;
  notes: JobNotes;
  /** Events of one fold of one partition, and bytes of all profiles in memory. */
  limits: { events: number; cacheBytes: number };
  signal: AbortSignal;
}

const UNMEASURED: ProfileMetrics = {
  folded: () => undefined,
  unreadable: () => undefined,
  misplaced: () => undefined,
  refolded: () => undefined,
};

/**
 * Folds rows into a table like `profiles`. What is folded in already is skipped, so a range that is
 * taken again changes nothing.
 */
export function profilesTarget({
  store,
  log,
  notes,
  limits,
  signal,
}: ProfilesTargetOptions): Target {
  const partitions = new Map<
    number,
    { cache: ProfileCache; waiting: EventRow[]; progress: Progress; folding: Promise<void> }
  >();
  const foldWaiting = async (partition: number): Promise<void> => {
    const own = partitions.get(partition);
    if (!own) return;
    await own.folding;
    const { waiting: events, progress } = own;
    own.waiting = [];
    const fold = async () => {
      await foldIn({ store, cache: own.cache, metrics: UNMEASURED, log, signal }, events);
      await notes.stored(partition, progress);
    };
    own.folding = fold();
    own.folding.catch(() => undefined);
  };
  return {
    async take({ partition, rows, progress }) {
      let own = partitions.get(partition);
      if (!own) {
        const cache = new ProfileCache(() => limits.cacheBytes / Math.max(1, partitions.size));
        partitions.set(
          partition,
          (own = { cache, waiting: [], progress, folding: Promise.resolve() }),
        );
      }
      for (const row of rows) own.waiting.push(row);
      own.progress = progress;
      if (own.waiting.length >= limits.events) await foldWaiting(partition);
    },
    async flush() {
      for (const partition of partitions.keys()) await foldWaiting(partition);
      await Promise.all([...partitions.values()].map(({ folding }) => folding));
    },
  };
}
