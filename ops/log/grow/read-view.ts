import type { Admin } from 'kafkajs';
import { committedOffsets, topicEnds, type PartitionEnds } from '../../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../../platform/kafka/connection.ts';
import { groupMembers } from '../../../platform/kafka/group-members.ts';
import { physicalTopic } from '../../../platform/kafka/topic-names.ts';
import { readLayout, recordedLayout, type LogLayout } from '../../../platform/log/layout.ts';
import { readWriters } from '../../../platform/log/writers.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import {
  CONSUMER_GROUPS,
  GROUP,
  METERING_READER,
  TOPIC,
  TOPICS,
} from '../../../schemas/topology.ts';
import type { Behind, GrowthView } from './plan.ts';

/** The topics that grow; events.raw last, so that what is derived from a partition has a place. */
export const GROWING = TOPICS.filter(({ partitions }) => partitions === 'EVENTS_PARTITIONS')
  .map(({ topic }) => topic)
  .toSorted((a, b) => Number(a === TOPIC.raw) - Number(b === TOPIC.raw));

interface Servers {
  admin: Admin;
  database: Database;
  settings: KafkaSettings;
}

/** The recorded layout; records that of an installation that has none. */
export async function layoutOf({ admin, database }: Servers): Promise<LogLayout> {
  const known = await readLayout(database);
  if (known) return known;
  const { length } = await topicEnds(admin, TOPIC.raw);
  return recordedLayout(database, { partitions: length });
}

export async function readView(servers: Servers, target: number): Promise<GrowthView> {
  const { admin, database } = servers;
  const layout = await layoutOf(servers);
  const counts = new Map<string, number>();
  for (const topic of GROWING) counts.set(topic, (await topicEnds(admin, topic)).length);
  const epoch = layout.change?.['epoch'];
  const marks = typeof epoch === 'number' ? await readMarks(database, epoch) : NO_MARKS;
  return {
    layout,
    target,
    counts,
    unassigned: layout.phase === 'preparing' ? await unassigned(servers, target) : [],
    writers: await readWriters(database),
    behind: await readBehind(servers, marks),
    marked: new Set(marks.keys()),
  };
}

/**
 * Groups that have unprocessed records: the normaliser first, so that everything that it has
 * processed is below the ends of events.normalised that are read then. It stays before the marks.
 */
export async function readBehind(
  { admin, settings }: Pick<Servers, 'admin' | 'settings'>,
  marks: Marks = NO_MARKS,
): Promise<Behind[]> {
  const behind: Behind[] = [];
  const known = await groupMembers(
    admin,
    settings,
    CONSUMER_GROUPS.map(({ group }) => group),
  );
  const members = (group: string) => known.get(group)?.length ?? 0;
  for (const topic of [TOPIC.raw, TOPIC.normalised]) {
    // The log may have gone back before a mark: no more than there is can be waited for.
    const ends = (await topicEnds(admin, topic)).map((end) => ({
      ...end,
      high: Math.min(
        end.high,
        (topic === TOPIC.raw ? marks.get(end.partition) : undefined) ?? end.high,
      ),
    }));
    for (const { group, service } of CONSUMER_GROUPS.filter((one) => one.topic === topic)) {
      // It keeps its positions elsewhere, and counts do not depend on the order.
      if (service === METERING_READER) continue;
      const committed = await committedOffsets(admin, group, topic);
      const isUnused =
        members(group) === 0 && [...committed.values()].every((at) => at === undefined);
      // A service that was never started has nothing to bring out of order.
      if (isUnused && group !== GROUP.normaliser) continue;
      const records = ends.reduce((sum, end) => sum + unread(end, committed), 0);
      if (records > 0) behind.push({ group, topic, records, members: members(group) });
    }
  }
  return behind;
}

function unread(
  { partition, low, high }: PartitionEnds,
  committed: ReadonlyMap<number, number | undefined>,
): number {
  return Math.max(0, high - Math.max(low, committed.get(partition) ?? 0));
}

/** Groups with members of which none reads some partition below `target`. */
async function unassigned({ admin, settings }: Servers, target: number): Promise<string[]> {
  const growing = CONSUMER_GROUPS.filter(({ topic }) => (GROWING as string[]).includes(topic));
  const groups = growing.map(({ group }) => group);
  const known = await groupMembers(admin, settings, groups);
  const missing: string[] = [];
  for (const { group, topic } of growing) {
    const members = known.get(group) ?? [];
    if (members.length === 0) continue;
    const assigned = new Set(
      members.flatMap(({ partitions }) => partitions.get(physicalTopic(topic)) ?? []),
    );
    if (Array.from({ length: target }, (_, at) => at).some((at) => !assigned.has(at)))
      missing.push(group);
  }
  return missing;
}

/** By partition of events.raw, the offset of the mark of the growth in progress. */
type Marks = ReadonlyMap<number, number>;
const NO_MARKS: Marks = new Map();

async function readMarks(database: Database, epoch: number): Promise<Marks> {
  const { rows } = await database.query<{ partition: number; first_offset: string }>(
    'SELECT partition, first_offset FROM log_epochs WHERE topic = $1 AND epoch = $2',
    [TOPIC.raw, epoch],
  );
  return new Map(rows.map(({ partition, first_offset: offset }) => [partition, Number(offset)]));
}
