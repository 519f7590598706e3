import { isDeepStrictEqual } from 'node:util';
import { delay } from '../backoff.ts';
import {
  physicalTopic,
  readTopicNamesFrom,
  topicNamesKnown,
  type TopicNames,
} from '../kafka/topic-names.ts';
import { connectPostgres, type Database } from '../postgres/pool.ts';
import type { Log } from '../log.ts';
import { readLayoutAndErasures, recentLayout } from './recent-layout.ts';
import { ERASURES_POLL_MS } from './erasures-poll.ts';
import {
  isBeingReplaced,
  isHeld,
  readLayout,
  releaseAbandonedRewrite,
  type LogLayout,
} from './layout.ts';

/** The names of topics in a layout. */
export function namesOf(
  layout: Pick<LogLayout, 'topics' | 'formerTopics'> | undefined,
): TopicNames {
  const former = Object.entries(layout?.formerTopics ?? {});
  return {
    topics: layout?.topics ?? {},
    former: Object.fromEntries(former.map(([topic, { name }]) => [topic, name])),
  };
}

/** PostgreSQL's undefined_table: this database has no layout yet. */
const NO_TABLE = '42P01';

/**
 * The physical names of topics that differ from their logical ones, over a connection of its own.
 * Rejects while PostgreSQL is unreachable.
 */
export async function topicNamesOf({ url, log }: { url: string; log: Log }): Promise<TopicNames> {
  const database = connectPostgres({ url, log, name: 'ravand-layout', max: 1 });
  try {
    return namesOf(await readLayout(database));
  } catch (error) {
    if ((error as { code?: string }).code === NO_TABLE) return namesOf(undefined);
    throw error;
  } finally {
    await database.end();
  }
}

/** Between two looks at a topic that is being replaced, ms. */
const STEADY_POLL = 500;

/**
 * The same for a process that keeps the names until it ends: waits while a topic is being replaced.
 * Rejects while PostgreSQL is unreachable.
 */
export async function steadyTopicNames({
  url,
  log,
  signal,
}: {
  url: string;
  log: Log;
  signal: AbortSignal;
}): Promise<TopicNames> {
  const database = connectPostgres({ url, log, name: 'ravand-layout', max: 1 });
  try {
    for (let isLogged = false; ; isLogged = true) {
      const layout = await readLayout(database);
      if (!layout || !isBeingReplaced(layout)) return keptNames(namesOf(layout));
      if (!isLogged)
        log.info({ code: 'topic_replaced' }, 'a topic is being replaced: waiting for its new name');
      await releaseAbandonedRewrite(database);
      await delay(STEADY_POLL, signal);
    }
  } catch (error) {
    if ((error as { code?: string }).code === NO_TABLE) return namesOf(undefined);
    throw error;
  } finally {
    await database.end();
  }
}

let kept: TopicNames | undefined;

/** This process keeps the names until it ends: its consumers have subscribed to them. */
export function keptNames(names: TopicNames): TopicNames {
  kept = names;
  return names;
}

let used: TopicNames | undefined;

/** Uses the names of a layout that was read later; producers take them with each record. */
export async function useTopicNames(layout: LogLayout): Promise<void> {
  const names = namesOf(layout);
  if (isDeepStrictEqual(names, used)) return;
  used = names;
  readTopicNamesFrom(() => Promise.resolve(names));
  await topicNamesKnown();
}

/**
 * Whether this process uses the names of the layout. One that keeps them does not, even when its
 * producer follows (ingest/writer-hold.ts): its consumers would read the former topic for ever.
 */
function isUsed({ topics }: Pick<LogLayout, 'topics'>): boolean {
  const nameOf = (topic: string) => (kept ? (kept.topics[topic] ?? topic) : physicalTopic(topic));
  return Object.entries(topics).every(([topic, name]) => nameOf(topic) === name);
}

/** Rejects when the topics that this process uses are not those of the layout, or soon will not. */
export async function requireCurrentNames(database: Pick<Database, 'query'>): Promise<void> {
  const layout = await readLayout(database);
  if (layout && (isBeingReplaced(layout) || !isUsed(layout)))
    throw new Error('a topic is being replaced: this process starts again with the other one');
}

/** A process that follows the layout uses its new names within this time, ms. */
const FOLLOWED_WITHIN = 4000;

/**
 * Rejects when a topic is being replaced, or was: the process must end, and start again with the
 * other one. One that follows the layout stays.
 */
export async function untilTopicsReplaced(options: {
  url: string;
  log: Log;
  signal: AbortSignal;
  isFollowing: boolean;
}): Promise<void> {
  const { url, log, signal, isFollowing } = options;
  await topicNamesKnown();
  const database = connectPostgres({ url, log, name: 'ravand-layout', max: 1 });
  try {
    while (!signal.aborted) {
      await delay(ERASURES_POLL_MS, signal);
      const layout =
        recentLayout(ERASURES_POLL_MS) ??
        (await readLayoutAndErasures(database).catch(() => undefined));
      if (!layout) continue;
      if (!isFollowing && isBeingReplaced(layout))
        throw new Error('a topic is being replaced (./ravand erase rewrite): starting again');
      if (isHeld(layout)) await releaseAbandonedRewrite(database).catch(() => undefined);
      if (isUsed(layout)) continue;
      await delay(FOLLOWED_WITHIN, signal);
      if (!isUsed(layout))
        throw new Error(
          'a topic was replaced (./ravand log): starting again to read the other one',
        );
    }
  } finally {
    await database.end();
  }
}
