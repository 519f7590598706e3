import { delay } from '../../platform/backoff.ts';
import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import { RangeGone } from '../../platform/kafka/read-range.ts';
import type { Log } from '../../platform/log.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import { isUnknownSchema, UnreadableRecord } from '../../schemas/codec.ts';
import { BEFORE_FIRST, comparePartitionPositions } from '../../schemas/log-position.ts';
import type { ProfileCache } from './cache.ts';
import { fold, groupByPerson } from './fold.ts';
import { profileKey, type Profile, type ProfileEvent } from './profile.ts';
import { readEvents } from './read-events.ts';
import type { RefoldRequest, RefoldRequests } from './refold-requests.ts';
import { loadInParts, type ProfileStore } from './store.ts';

export interface RefoldDeps {
  /** Folds the partition. */
  task: PartitionTask;
  partition: number;
  /** Offset at which the task starts. */
  committed: number | undefined;
  requests: RefoldRequests;
  /** Records of the partition of events.normalised from `from` to before `to`. */
  readLog(from: number, to: number): AsyncIterable<readonly ConsumedMessage[]>;
  store: ProfileStore;
  cache: ProfileCache;
  log: Log;
  signal: AbortSignal;
  /** Interval between two queries for requests, ms. */
  interval: number;
  refolded(count: number): void;
}

/** Folds a partition and, between batches, applies refolded profiles (FOLD.md). */
export function refoldingTask(
  deps: RefoldDeps,
): PartitionTask & { applyRequests(): Promise<void> } {
  const { task, signal, log } = deps;
  let position = deps.committed ?? 0;
  let queue: Promise<unknown> = Promise.resolve();
  const inOrder = <T>(operation: () => Promise<T>): Promise<T> => {
    const result = queue.then(operation);
    queue = result.catch(() => undefined);
    return result;
  };
  const released = new AbortController();
  const stopped = AbortSignal.any([signal, released.signal]);
  const applyRequests = async () => {
    const due = await deps.requests.due(deps.partition);
    if (due.length > 0)
      await inOrder(() => (stopped.aborted ? Promise.resolve() : refold(deps, { due, position })));
  };
  const poll = async () => {
    for (let failures = 0; !stopped.aborted;) {
      await delay(deps.interval, stopped);
      try {
        await applyRequests();
        failures = 0;
      } catch (error) {
        stopped.throwIfAborted();
        const message = error instanceof Error ? error.message : String(error);
        if (failures++ === 0)
          log.warn(
            { code: 'refold_waiting', partition: deps.partition },
            `applying refold requests failed (${message}); retrying`,
          );
      }
    }
  };
  void poll().catch(() => undefined);
  return {
    from: task.from,
    applyRequests,
    process: (messages) =>
      inOrder(async () => {
        const next = await task.process(messages);
        position = (messages.at(-1)?.offset ?? position - 1) + 1;
        return next;
      }),
    async release() {
      released.abort(new Error('the partition was released'));
      await queue;
      await task.release();
    },
  };
}

interface DueRequests {
  due: readonly RefoldRequest[];
  /** Next offset that the partition's task processes. */
  position: number;
}

/** Brings requested profiles to the partition's position; saves those with more events. */
async function refold(deps: RefoldDeps, requested: DueRequests): Promise<void> {
  const { store, cache, log, signal, requests, partition } = deps;
  const { due } = requested;
  let profiles: ReadonlyMap<string, Profile>;
  try {
    profiles = await foldUpToPosition(deps, requested);
  } catch (error) {
    if (!(error instanceof RangeGone)) throw error;
    log.error(
      { code: 'refold_too_late', partition, count: due.length },
      `profiles cannot be folded again: ${error.message}; replay again or rebuild the profiles`,
    );
    await requests.remove(due.map(({ id }) => id));
    return;
  }
  // Loads from ClickHouse, not from the cache: a former owner may have written since.
  const stored = await retryUntilAborted(
    { log, signal, code: 'clickhouse_unreachable', what: 'loading profiles' },
    () => loadInParts(store, [...profiles.values()], signal),
  );
  const hasMoreEvents = (key: string, { eventCount }: Profile) =>
    eventCount > (stored.get(key)?.eventCount ?? 0);
  const saved = new Map([...profiles].filter(([key, profile]) => hasMoreEvents(key, profile)));
  if (saved.size > 0)
    await retryUntilAborted(
      { log, signal, code: 'clickhouse_unreachable', what: 'saving profiles' },
      () => store.save([...saved.values()], signal),
    );
  signal.throwIfAborted();
  // The cache holds what wins in ClickHouse, also when another process wrote it.
  for (const [key, profile] of profiles)
    cache.set(key, saved.has(key) ? profile : (stored.get(key) ?? profile));
  // A stored profile past the position of this owner comes from a former one, which may not know
  // the added events. The two can be compared only at the same position: the request remains due.
  const isStoredAhead = (key: string) =>
    comparePartitionPositions(
      stored.get(key)?.last ?? BEFORE_FIRST,
      profiles.get(key)?.last ?? BEFORE_FIRST,
    ) > 0;
  const comparable = due
    .map(({ id, applied, profile }) => ({ id, applied, key: keyOf(profile) }))
    .filter(({ key }) => !isStoredAhead(key));
  const confirmed = comparable.filter(({ applied, key }) => applied && !saved.has(key));
  const applied = comparable.filter((request) => !confirmed.includes(request));
  await requests.markApplied(applied.map(({ id }) => id));
  await requests.remove(confirmed.map(({ id }) => id));
  deps.refolded(saved.size);
  if (saved.size > 0) log.info({ partition, profiles: saved.size }, 'profiles were folded again');
}

/** The requested profiles with the events up to the position of the partition, by key. */
async function foldUpToPosition(
  deps: RefoldDeps,
  { due, position }: DueRequests,
): Promise<ReadonlyMap<string, Profile>> {
  const profiles = new Map(due.map(({ profile }) => [keyOf(profile), profile]));
  const from = due.reduce(
    (first, { fromOffset }) => Math.min(first, fromOffset),
    Number.POSITIVE_INFINITY,
  );
  if (from >= position) return profiles;
  for await (const messages of deps.readLog(from, position)) {
    const grouped = groupByPerson(messages.flatMap((message) => eventsOf(message, profiles)));
    const before = grouped.people.map(({ key }) => profiles.get(key));
    for (const profile of fold(grouped, before).changed) profiles.set(keyOf(profile), profile);
  }
  return profiles;
}

/** The events of a record that belong to one of the profiles. */
function eventsOf(
  message: ConsumedMessage,
  profiles: ReadonlyMap<string, Profile>,
): ProfileEvent[] {
  try {
    return readEvents(message).filter((event) =>
      profiles.has(profileKey(event.account_id, event.user_id || event.anonymous_id)),
    );
  } catch (error) {
    if (error instanceof UnreadableRecord && !isUnknownSchema(error)) return [];
    throw error;
  }
}

function keyOf({ accountId, distinctId }: Profile): string {
  return profileKey(accountId, distinctId);
}
