import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import type { Log } from '../../platform/log.ts';
import { UnreadableRecord } from '../../schemas/codec.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { ProfileCache } from './cache.ts';
import { fold, gather } from './fold.ts';
import type { ProfileMetrics } from './metrics.ts';
import type { ProfileEvent } from './profile.ts';
import { readEvents } from './read-events.ts';
import type { ProfileStore } from './store.ts';

export interface FoldParts {
  store: ProfileStore;
  cache: ProfileCache;
  metrics: ProfileMetrics;
  log: Log;
  /** Most events of one fold: bounds the states that are loaded and pinned at a time. */
  foldEvents: number;
  /** Aborts when the partition is taken away. */
  signal: AbortSignal;
  /**
   * The cache is this partition's own and goes with it: another owner changes the states from then
   * on.
   */
  onRelease(): void;
}

/**
 * Folds the events of one partition into profiles: load what is cold, fold, save, and only then
 * commit (FOLD.md). ClickHouse away: it waits, with backoff.
 */
export function foldTask(parts: FoldParts): PartitionTask {
  return {
    from: undefined,
    async process(messages) {
      let waiting: ProfileEvent[] = [];
      for (const message of messages) {
        const events = readable(parts, message);
        if (waiting.length > 0 && waiting.length + events.length > parts.foldEvents) {
          await foldIn(parts, waiting);
          waiting = [];
        }
        waiting = waiting.length === 0 ? events : waiting.concat(events);
      }
      await foldIn(parts, waiting);
      return (messages.at(-1)?.offset ?? -1) + 1;
    },
    release() {
      parts.onRelease();
      return Promise.resolve();
    },
  };
}

/**
 * The events of a record; none when it cannot be read: events-sink keeps its bytes in events.dead.
 */
function readable({ log, metrics }: FoldParts, message: ConsumedMessage): ProfileEvent[] {
  try {
    return readEvents(message);
  } catch (error) {
    if (!(error instanceof UnreadableRecord)) throw error;
    const { topic, partition, offset } = message;
    metrics.unreadable();
    log.warn(
      { code: error.code, topic, partition, offset },
      'a record cannot be read and is in no profile; see events.dead',
    );
    return [];
  }
}

/**
 * Folds events in the order of their places into what is stored: resolves when every changed state
 * is durable.
 */
export async function foldIn(
  parts: Omit<FoldParts, 'foldEvents' | 'onRelease'>,
  events: readonly ProfileEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const { store, cache, log, signal } = parts;
  const began = performance.now();
  const gathered = gather(events);
  // What this fold uses stays at hand until it ends, whatever the cache drops meanwhile.
  const states = gathered.names.map(({ key }) => cache.get(key));
  const cold = gathered.names.filter((_, at) => states[at] === undefined);
  if (cold.length > 0) {
    const loaded = await retryUntilAborted(
      { log, signal, code: 'clickhouse_unreachable', what: 'loading profiles' },
      () => store.load(cold, signal),
    );
    for (const [at, { key }] of gathered.names.entries()) states[at] ??= loaded.get(key);
  }
  const ready = performance.now();
  const { changed, keys, skipped, misplaced } = fold(gathered, states);
  const [first] = misplaced;
  if (first) {
    parts.metrics.misplaced(misplaced.length);
    log.error(
      { err: first, code: 'misplaced_event', count: misplaced.length },
      'events came through the wrong partition: they are stored, and in no profile',
    );
  }
  const folded = performance.now();
  if (changed.length > 0)
    await retryUntilAborted(
      { log, signal, code: 'clickhouse_unreachable', what: 'saving profiles' },
      () => store.save(changed, signal),
    );
  signal.throwIfAborted();
  for (const [at, profile] of changed.entries()) cache.set(keys[at] ?? '', profile);
  parts.metrics.folded({
    ...{
      events: events.length - skipped - misplaced.length,
      skipped,
      loaded: cold.length,
      saved: changed.length,
    },
    ...{ loadMs: ready - began, foldMs: folded - ready, saveMs: performance.now() - folded },
  });
}
