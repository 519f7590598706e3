import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import { delay } from '../../platform/backoff.ts';
import { RangeGone } from '../../platform/kafka/read-range.ts';
import type { Log } from '../../platform/log.ts';
import { UnreadableRecord } from '../../schemas/codec.ts';
import { comparePartitionPositions, BEFORE_FIRST } from '../../schemas/log-position.ts';
import { retryUntilAborted } from '../../platform/retry-until-aborted.ts';
import type { ProfileCache } from './cache.ts';
import { fold, gather } from './fold.ts';
import { profileKey, type Profile, type ProfileEvent } from './profile.ts';
import { readEvents } from './read-events.ts';
import type { RefoldRequest, RefoldRequests } from './refold-requests.ts';
import type { ProfileStore } from './store.ts';

export interface RefoldParts {
  /** The fold of the partition. */
  task: PartitionTask;
  partition: number;
  /** Where the task begins to read. */
  committed: number | undefined;
  requests: RefoldRequests;
  /** Records of the partition of events.normalised from `from` to before `to`. */
  tail(from: number, to: number): AsyncIterable<readonly ConsumedMessage[]>;
  store: ProfileStore;
  cache: ProfileCache;
  log: Log;
  signal: AbortSignal;
  /** ms between two looks at the requests. */
  every: number;
  refolded(count: number): void;
}

/**
 * The fold of a partition that also takes over profiles which a replay folded anew (FOLD.md,
 * "Events that are added later"). Never while a take runs.
 */
export function refolder(parts: RefoldParts): PartitionTask & { look(): Promise<void> } {
  const { task, signal, log } = parts;
  let position = parts.committed ?? 0;
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  };
  const released = new AbortController();
  const over = AbortSignal.any([signal, released.signal]);
  const look = async () => {
    const due = await parts.requests.due(parts.partition);
    if (due.length > 0)
      await inTurn(() => (over.aborted ? Promise.resolve() : takeOver(parts, { due, position })));
  };
  const watch = async () => {
    for (let failures = 0; !over.aborted;) {
      await delay(parts.every, over);
      try {
        await look();
        failures = 0;
      } catch (error) {
        over.throwIfAborted();
        const message = error instanceof Error ? error.message : String(error);
        if (failures++ === 0)
          log.warn(
            { code: 'refold_waiting', partition: parts.partition },
            `profiles to fold anew are waiting (${message}); trying again`,
          );
      }
    }
  };
  void watch().catch(() => undefined);
  return {
    from: task.from,
    look,
    process: (messages) =>
      inTurn(async () => {
        const next = await task.process(messages);
        position = (messages.at(-1)?.offset ?? position - 1) + 1;
        return next;
      }),
    async release() {
      released.abort(new Error('the partition was released'));
      await turn;
      await task.release();
    },
  };
}

/**
 * Brings the requested folds up to where the partition stands, and writes those that have more
 * events than what is stored.
 */
async function takeOver(
  parts: RefoldParts,
  { due, position }: { due: readonly RefoldRequest[]; position: number },
): Promise<void> {
  const { store, cache, log, signal, requests, partition } = parts;
  let states: ReadonlyMap<string, Profile>;
  try {
    states = await foldTail(parts, { due, position });
  } catch (error) {
    if (!(error instanceof RangeGone)) throw error;
    log.error(
      { code: 'refold_too_late', partition, count: due.length },
      `profiles cannot be folded anew: ${error.message}; replay again or rebuild the profiles`,
    );
    await requests.done(due.map(({ id }) => id));
    return;
  }
  // What is stored, not what is in memory: a former owner may have written since.
  const stored = await retryUntilAborted(
    { log, signal, code: 'clickhouse_unreachable', what: 'loading profiles' },
    () => store.load([...states.values()], signal),
  );
  const isStored = ([key, { eventCount }]: [string, Profile]) =>
    (stored.get(key)?.eventCount ?? 0) >= eventCount;
  const better = [...states].filter((one) => !isStored(one)).map(([, profile]) => profile);
  if (better.length > 0)
    await retryUntilAborted(
      { log, signal, code: 'clickhouse_unreachable', what: 'saving profiles' },
      () => store.save(better, signal),
    );
  signal.throwIfAborted();
  // In memory stands what wins in ClickHouse, also where somebody else wrote it.
  for (const [key, profile] of states)
    cache.set(key, isStored([key, profile]) ? (stored.get(key) ?? profile) : profile);
  const isBetter = new Set(better.map(({ accountId, name }) => profileKey(accountId, name)));
  // What is stored goes further than this owner has come: a former one, which may not know of the
  // added events, was ahead. Only at the same place can the two be compared.
  const isAhead = (key: string) =>
    comparePartitionPositions(
      stored.get(key)?.last ?? BEFORE_FIRST,
      states.get(key)?.last ?? BEFORE_FIRST,
    ) > 0;
  const settled = due.filter(
    ({ profile }) => !isAhead(profileKey(profile.accountId, profile.name)),
  );
  const lasting = settled.filter(
    ({ applied, profile }) => applied && !isBetter.has(profileKey(profile.accountId, profile.name)),
  );
  await requests.applied(
    settled.filter((request) => !lasting.includes(request)).map(({ id }) => id),
  );
  await requests.done(lasting.map(({ id }) => id));
  parts.refolded(better.length);
  if (better.length > 0)
    log.info({ partition, profiles: better.length }, 'profiles were folded anew');
}

/** The states of the requested names with the events that came since, by key. */
async function foldTail(
  parts: RefoldParts,
  { due, position }: { due: readonly RefoldRequest[]; position: number },
): Promise<ReadonlyMap<string, Profile>> {
  const states = new Map(
    due.map(({ profile }) => [profileKey(profile.accountId, profile.name), profile]),
  );
  const from = due.reduce(
    (least, { fromOffset }) => Math.min(least, fromOffset),
    Number.POSITIVE_INFINITY,
  );
  if (from >= position) return states;
  for await (const messages of parts.tail(from, position)) {
    const gathered = gather(messages.flatMap((message) => wanted(message, states)));
    for (const profile of fold(
      gathered,
      gathered.names.map(({ key }) => states.get(key)),
    ).changed)
      states.set(profileKey(profile.accountId, profile.name), profile);
  }
  return states;
}

function wanted(message: ConsumedMessage, states: ReadonlyMap<string, Profile>): ProfileEvent[] {
  try {
    return readEvents(message).filter((event) =>
      states.has(profileKey(event.account_id, event.user_id || event.anonymous_id)),
    );
  } catch (error) {
    if (error instanceof UnreadableRecord) return [];
    throw error;
  }
}
