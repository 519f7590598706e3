import kafkajs, { type Admin } from 'kafkajs';
import type { Database } from '../../platform/postgres/pool.ts';
import { topicEnds, type PartitionEnds } from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { RangeReader, type RecordPosition } from '../../platform/kafka/read-range.ts';
import { logicalTopic, physicalTopic, topicNamesKnown } from '../../platform/kafka/topic-names.ts';
import { oldestUnread, positionKey, type OffsetSnapshot, type GroupOffset } from './evaluate.ts';
import { CONSUMER_GROUPS, METERING_READER, meteringGroup } from '../../schemas/topology.ts';

/** A consumer group and a topic that it reads. */
interface Reader {
  group: string;
  topic: string;
}

/** `problems`: what could not be read, in sentences. */
export interface LagSnapshot extends OffsetSnapshot {
  problems: string[];
}

const UNREAD_MS = 3000;

/** Current offsets of the known consumer groups and of all others that Kafka knows. */
export async function fetchLagSnapshot(admin: Admin, database: Database): Promise<LagSnapshot> {
  const problems: string[] = [];
  await topicNamesKnown();
  const topics = new Set((await admin.listTopics()).map(logicalTopic));
  const { groups } = await admin.listGroups();
  const names = new Set([
    ...CONSUMER_GROUPS.map(({ group }) => group),
    ...groups
      .filter(({ protocolType }) => protocolType === 'consumer')
      .map(({ groupId }) => groupId),
  ]);
  const commits = new Map<string, Map<string, Map<number, number>>>();
  for (const group of names) commits.set(group, await commitsOf(admin, group));
  const meteringOffsets = await meteringPositions(database).catch((error: unknown) => {
    problems.push(
      `PostgreSQL does not answer (${messageOf(error)}): the positions of metering are the ones committed to Kafka, which may be slightly behind`,
    );
    return undefined;
  });
  const ends = new Map<string, PartitionEnds[]>();
  const offsets: GroupOffset[] = [];
  for (const { group, topic } of allReaders(commits)) {
    if (!topics.has(topic)) {
      problems.push(`the topic ${topic} of ${group} does not exist; ./ravand up creates it`);
      continue;
    }
    const found = ends.get(topic) ?? (await topicEnds(admin, topic));
    ends.set(topic, found);
    const own =
      group === meteringGroup(topic) && meteringOffsets
        ? (meteringOffsets.get(topic) ?? new Map<number, number>())
        : commits.get(group)?.get(topic);
    if (own === undefined || own.size === 0)
      if (found.some(({ low, high }) => high > low))
        problems.push(
          `${group} has never committed on ${topic}: check that its service runs with ./ravand status`,
        );
    for (const { partition, low, high } of found)
      offsets.push({ group, topic, partition, low, end: high, position: own?.get(partition) });
  }
  return { at: Date.now(), offsets, problems };
}

/**
 * When the oldest unread record of each partition was appended, ms since the epoch, by
 * `positionKey`. Records that do not arrive in time are left out.
 */
export async function fetchAppendTimes(
  offsets: readonly GroupOffset[],
  settings: KafkaSettings,
): Promise<Map<string, number>> {
  const positions = new Map<string, RecordPosition>();
  for (const groupOffset of offsets) {
    const offset = oldestUnread(groupOffset);
    if (offset === undefined) continue;
    const { topic, partition } = groupOffset;
    positions.set(positionKey({ topic, partition, offset }), { topic, partition, offset });
  }
  const times = new Map<string, number>();
  const reader = new RangeReader({ settings, clientId: 'ravand-lag', profile: 'single' });
  try {
    for await (const [position, { timestamp }] of reader.firstRecords(
      [...positions.values()],
      UNREAD_MS,
    ))
      times.set(positionKey(position), timestamp);
  } catch {
    // An unknown time is shown as unknown.
  } finally {
    await reader.close();
  }
  return times;
}

/** Retention of each topic, ms; 0: unlimited. */
export async function fetchRetentions(
  admin: Admin,
  topics: readonly string[],
): Promise<Map<string, number>> {
  if (topics.length === 0) return new Map();
  const answer = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map((name) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name: physicalTopic(name),
      configNames: ['retention.ms'],
    })),
  });
  return new Map(
    answer.resources.map(({ resourceName, configEntries }) => [
      logicalTopic(resourceName),
      Math.max(0, Number(configEntries[0]?.configValue ?? 0)),
    ]),
  );
}

/** The known readers, whether they ever committed or not, then all other groups with commits. */
function allReaders(commits: ReadonlyMap<string, ReadonlyMap<string, unknown>>): Reader[] {
  const known = new Set(CONSUMER_GROUPS.map(({ group, topic }) => `${group}\n${topic}`));
  const others = [...commits].flatMap(([group, topics]) =>
    [...topics.keys()].map((topic) => ({ group, topic })),
  );
  return [
    ...CONSUMER_GROUPS,
    ...others.filter(({ group, topic }) => !known.has(`${group}\n${topic}`)),
  ];
}

async function commitsOf(admin: Admin, groupId: string): Promise<Map<string, Map<number, number>>> {
  const entries = await admin.fetchOffsets({ groupId });
  return new Map(
    entries.flatMap(({ topic, partitions }) => {
      const committed = partitions
        .map(({ partition, offset }) => [partition, Number(offset)] as const)
        .filter(([, offset]) => offset >= 0);
      return committed.length === 0 ? [] : [[logicalTopic(topic), new Map(committed)]];
    }),
  );
}

async function meteringPositions(database: Database): Promise<Map<string, Map<number, number>>> {
  const { rows } = await database.query<{ topic: string; partition: number; next_offset: string }>(
    'SELECT topic, partition, next_offset FROM log_positions WHERE reader = $1',
    [METERING_READER],
  );
  return new Map(
    [...Map.groupBy(rows, ({ topic }) => topic)].map(([topic, some]) => [
      topic,
      new Map(some.map((row) => [row.partition, Number(row.next_offset)])),
    ]),
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
