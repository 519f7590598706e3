import type { Log } from '../../platform/log.ts';
import type { RebuildJournal, RebuildProgress, RebuildTarget } from '../rebuild-target.ts';
import { ProfileCache } from './cache.ts';
import type { ProfileMetrics } from './metrics.ts';
import type { ProfileEvent } from './profile.ts';
import type { ProfileStore } from './store.ts';
import { foldIn } from './task.ts';

interface ProfilesTargetOptions {
  store: ProfileStore;
  log: Log;
  journal: RebuildJournal;
  /** Events of one fold of one partition; bytes of all cached profiles. */
  limits: { events: number; cacheBytes: number };
  signal: AbortSignal;
}

interface PartitionEvents {
  cache: ProfileCache;
  /** Added, not folded yet. */
  events: ProfileEvent[];
  progress: RebuildProgress;
  /** The fold in flight. */
  folding: Promise<void>;
}

const NO_METRICS: ProfileMetrics = {
  folded: () => undefined,
  unreadable: () => undefined,
  misplaced: () => undefined,
};

/** Folds rows into a table like `profiles`; a repeated range changes nothing. */
export function profilesTarget(options: ProfilesTargetOptions): RebuildTarget<ProfileEvent> {
  const { store, log, journal, limits, signal } = options;
  const partitions = new Map<number, PartitionEvents>();
  /** The highest one so far: a higher one may bring a person from another partition. */
  let epoch = 0;
  /** Waits for the fold in flight, then starts the next one without waiting for it. */
  const startFold = async (partition: number, own: PartitionEvents): Promise<void> => {
    await own.folding;
    const { events, progress, cache } = own;
    own.events = [];
    const fold = async () => {
      await foldIn({ store, cache, metrics: NO_METRICS, log, signal }, events);
      await journal.stored(partition, progress);
    };
    own.folding = fold();
    own.folding.catch(() => undefined);
  };
  const flush = async (): Promise<void> => {
    for (const [partition, own] of partitions) await startFold(partition, own);
    await Promise.all([...partitions.values()].map(({ folding }) => folding));
  };
  return {
    async add({ partition, rows, progress }) {
      const after = rows[0]?._epoch ?? epoch;
      if (after > epoch) {
        await flush();
        for (const { cache } of partitions.values()) cache.clear();
        epoch = after;
      }
      let own = partitions.get(partition);
      if (!own) {
        const cache = new ProfileCache(() => limits.cacheBytes / Math.max(1, partitions.size));
        own = { cache, events: [], progress, folding: Promise.resolve() };
        partitions.set(partition, own);
      }
      for (const row of rows) own.events.push(row);
      own.progress = progress;
      if (own.events.length >= limits.events) await startFold(partition, own);
    },
    flush,
  };
}
