import { isDeepStrictEqual } from 'node:util';
import { delay } from '../backoff.ts';
import {
  physicalTopic,
  readTopicNamesFrom,
  topicNamesKnown,
  type TopicNames,
} from '../kafka/topic-names.ts';
import { connectPostgres } from '../postgres/pool.ts';
import type { Log } from '../log.ts';
import { readLayout, type LogLayout } from './layout.ts';

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

let used: TopicNames | undefined;

/** Uses the names of a layout that was read later; producers take them with each record. */
export async function useTopicNames(layout: LogLayout): Promise<void> {
  const names = namesOf(layout);
  if (isDeepStrictEqual(names, used)) return;
  used = names;
  readTopicNamesFrom(() => Promise.resolve(names));
  await topicNamesKnown();
}

function isUsed({ topics }: LogLayout): boolean {
  return Object.entries(topics).every(([topic, name]) => physicalTopic(topic) === name);
}

const POLL = 2500;

/** Rejects when a topic was replaced: the process must read the other one. */
export async function untilTopicsReplaced(options: {
  url: string;
  log: Log;
  signal: AbortSignal;
}): Promise<void> {
  const { url, log, signal } = options;
  await topicNamesKnown();
  const database = connectPostgres({ url, log, name: 'ravand-layout', max: 1 });
  try {
    while (!signal.aborted) {
      await delay(POLL, signal);
      const layout = await readLayout(database).catch(() => undefined);
      if (!layout || isUsed(layout)) continue;
      // A process that follows the layout uses the new names by then.
      await delay(POLL, signal);
      if (!isUsed(layout))
        throw new Error(
          'a topic was replaced (./ravand log): starting again to read the other one',
        );
    }
  } finally {
    await database.end();
  }
}
