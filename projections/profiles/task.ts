import { offsetAfter, readOrSkip } from '../../platform/kafka/batch-task.ts';
import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { Log } from '../../platform/log.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { ProfileCache } from './cache.ts';
import { foldEach, groupByPerson } from './fold.ts';
import type { ProfileMetrics } from './metrics.ts';
import { packProfile, unpackProfile } from './profile-row.ts';
import type { PackedProfile, ProfileEvent } from './profile.ts';
import { readEvents } from './read-events.ts';
import { ProfilesTooLarge, type LoadedProfiles, type ProfileStore } from './store.ts';

export interface FoldDeps {
  store: ProfileStore;
  cache: ProfileCache;
  metrics: ProfileMetrics;
  log: Log;
  /** Maximum events of one fold: bounds the profiles that are loaded and pinned at a time. */
  foldEvents: number;
  /** Aborts when the partition is revoked. */
  signal: AbortSignal;
  /** The cache ends with the assignment: from then on another owner changes the profiles. */
  onRelease(): void;
}

/**
 * Folds the events of one partition into profiles: load what is not cached, fold, save, and only
 * then commit (FOLD.md). Retries while ClickHouse is unavailable.
 */
export function foldTask(deps: FoldDeps): PartitionTask {
  let epoch: number | undefined;
  return {
    from: undefined,
    async process(messages) {
      let pending: ProfileEvent[] = [];
      for (const message of messages) {
        const events = decodeEvents(deps, message);
        const after = events[0]?._epoch ?? epoch ?? 0;
        if (epoch !== undefined && after > epoch) {
          await foldIn(deps, pending);
          pending = [];
          // Meanwhile people may have been in another partition, whose owner changed the profile.
          deps.cache.clear();
        }
        epoch = Math.max(after, epoch ?? after);
        if (pending.length > 0 && pending.length + events.length > deps.foldEvents) {
          await foldIn(deps, pending);
          pending = [];
        }
        for (const event of events) pending.push(event);
      }
      await foldIn(deps, pending);
      return offsetAfter(messages);
    },
    release() {
      deps.onRelease();
      return Promise.resolve();
    },
  };
}

/** No events when the record cannot be decoded: events-sink keeps its bytes in events.dead. */
function decodeEvents({ log, metrics }: FoldDeps, message: ConsumedMessage): ProfileEvent[] {
  return readOrSkip(message, readEvents, {
    log,
    warning: 'a record cannot be decoded and is in no profile; see events.dead',
    onUnreadable: () => metrics.unreadable(),
  });
}

/**
 * Folds events into stored profiles, in order; resolves when they are durable. Events whose people
 * are too large for one load are folded in two parts, and each of these in the same way.
 */
export async function foldIn(
  deps: Omit<FoldDeps, 'foldEvents' | 'onRelease'>,
  events: readonly ProfileEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const { store, cache, log, signal } = deps;
  const started = performance.now();
  const grouped = groupByPerson(events);
  const { people } = grouped;
  // Pins the profiles of this fold, whatever the cache evicts meanwhile.
  const cached = people.map(({ key }) => cache.getPacked(key));
  const uncached = people.filter((_, at) => cached[at] === undefined);
  let loaded: LoadedProfiles | undefined;
  if (uncached.length > 0) {
    const retries = { log, signal, code: 'clickhouse_unreachable', what: 'loading profiles' };
    loaded = await retryUntilAborted({ ...retries, isFinal: isTooLarge }, () =>
      store.load(uncached, signal),
    ).catch((error: unknown) => {
      if (isTooLarge(error) && events.length > 1) return undefined;
      throw error;
    });
    if (!loaded) {
      const half = Math.ceil(events.length / 2);
      await foldIn(deps, events.slice(0, half));
      return foldIn(deps, events.slice(half));
    }
  }
  const loadedAt = performance.now();
  // Profiles are values only while their own events are folded: what lives until all of them are
  // stored is packed. Of one encoding: what is inserted, and what the cache keeps.
  const packed: PackedProfile[] = [];
  const keys: string[] = [];
  const { skipped, misplaced, droppedTraits } = foldEach(grouped, {
    before: (person) => {
      const own = cached[person];
      return own === undefined ? loaded?.get(people[person]?.key ?? '') : unpackProfile(own);
    },
    changed: (profile, person) => {
      packed.push(packProfile(profile));
      keys.push(people[person]?.key ?? '');
    },
  });
  const [first] = misplaced;
  if (first) {
    deps.metrics.misplaced(misplaced.length);
    log.error(
      { err: first, code: 'misplaced_event', count: misplaced.length },
      'events came through the wrong partition: they are stored, but in no profile',
    );
  }
  const foldedAt = performance.now();
  if (packed.length > 0)
    await retryUntilAborted(
      { log, signal, code: 'clickhouse_unreachable', what: 'saving profiles' },
      () => store.save(packed, signal),
    );
  signal.throwIfAborted();
  for (const [at, row] of packed.entries()) cache.set(keys[at] ?? '', row);
  deps.metrics.folded({
    events: events.length - skipped - misplaced.length,
    skipped,
    loaded: uncached.length,
    saved: packed.length,
    droppedTraits,
    loadMs: loadedAt - started,
    foldMs: foldedAt - loadedAt,
    saveMs: performance.now() - foldedAt,
  });
}

function isTooLarge(error: unknown): boolean {
  return error instanceof ProfilesTooLarge;
}
