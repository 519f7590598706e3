import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { withDeadline } from '../../platform/deadline.ts';
import { readTopicNamesFrom } from '../../platform/kafka/topic-names.ts';
import type { Log } from '../../platform/log.ts';
import { readLayout, type LogLayout } from '../../platform/log/layout.ts';
import { useTopicNames } from '../../platform/log/topic-names.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { TOPIC } from '../../schemas/topology.ts';
import type { Config } from '../config.ts';
import type { Publisher } from '../publish/publisher.ts';
import type { HoldState } from './evolve.ts';
import { followedFile, type StoredLayout } from './followed-file.ts';

/** The start waits at most so long for PostgreSQL: the gateway works without it, ms. */
export const LAYOUT_MS = 5000;

/**
 * The layout of the log: what the process before this one followed, and what PostgreSQL has.
 * Without PostgreSQL the stored one applies.
 */
export async function knownLayout({
  config,
  log,
  database,
}: {
  config: Pick<Config, 'SPOOL_DIR' | 'PUBLISH_TIMEOUT'>;
  log: Log;
  database: Database;
}) {
  const file = followedFile(config.SPOOL_DIR);
  const stored = await file.load();
  const reading = withDeadline(
    { ms: LAYOUT_MS, waitingFor: 'the layout of the log' },
    readLayout(database),
  );
  const read = await reading.catch((error: unknown) => {
    log.warn(
      { err: error, code: 'layout_unknown', partitions: stored?.partitions },
      'the layout of the log cannot be read from PostgreSQL: the gateway goes on by the one that it followed last',
    );
    return undefined;
  });
  let topics = read?.topics ?? stored?.topics ?? {};
  readTopicNamesFrom(() => Promise.resolve({ topics, former: {} }));
  const instance = stored?.instance ?? randomBytes(8).toString('hex');
  let written = stored;
  const store = async (layout: StoredLayout) => {
    if (isDeepStrictEqual(layout, written)) return;
    await file.store(layout);
    written = layout;
  };
  return {
    instance,
    followed: stored,
    read,
    onRead: async (layout: LogLayout) => {
      ({ topics } = layout);
      await useTopicNames(layout);
      const { generation, partitions } = layout;
      // What is held follows the stored one until it is released.
      if (written === undefined || written.partitions === partitions)
        await store({ generation, partitions, instance, topics });
    },
    onFollow: async ({ followed }: HoldState, publisher: Publisher) => {
      const { partitions } = followed;
      const count = await publisher.producer?.partitions(TOPIC.raw, config.PUBLISH_TIMEOUT);
      if (count !== undefined && count < partitions)
        throw new Error(`Kafka has ${count} of ${partitions} partitions of ${TOPIC.raw}`);
      await store({ ...followed, instance, topics });
    },
  };
}

/** Partitions of the topics that this gateway writes; none while Kafka is unreachable. */
export async function countedPartitions({
  producer,
}: Publisher): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  if (producer)
    for (const topic of [TOPIC.raw, TOPIC.outcomes])
      counts.set(topic, await producer.partitions(topic, 2000));
  return counts;
}
