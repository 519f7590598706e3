import kafkajs, { type Admin } from 'kafkajs';
import type { Database } from '../../platform/postgres/pool.ts';
import { topicEnds, type PartitionEnds } from '../../platform/kafka/admin.ts';
import { connectRecordReader } from '../../management-api/freshness/record-reader.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { oldestUnread, positionKey, type Look, type GroupOffset } from './evaluate.ts';
import { METERING_READER, meteringGroup, READERS, type Reader } from './groups.ts';

/** A look with what could not be seen, in sentences. */
export interface Seen extends Look {
  problems: string[];
}

const UNREAD_MS = 3000;

/**
 * Positions of every group before every partition it reads, now: known readers, and groups that
 * Kafka knows beside them.
 */
export async function lookAtLags(admin: Admin, database: Database): Promise<Seen> {
  const problems: string[] = [];
  const topics = new Set(await admin.listTopics());
  const { groups } = await admin.listGroups();
  const names = new Set([
    ...READERS.map(({ group }) => group),
    ...groups
      .filter(({ protocolType }) => protocolType === 'consumer')
      .map(({ groupId }) => groupId),
  ]);
  const commits = new Map<string, Map<string, Map<number, number>>>();
  for (const group of names) commits.set(group, await commitsOf(admin, group));
  const counted = await meteringPositions(database).catch((error: unknown) => {
    problems.push(
      `PostgreSQL does not answer (${messageOf(error)}): positions of metering are those it told Kafka, which may lag a little`,
    );
    return undefined;
  });
  const ends = new Map<string, PartitionEnds[]>();
  const standings: GroupOffset[] = [];
  for (const { group, topic } of readersOf(commits)) {
    if (!topics.has(topic)) {
      problems.push(`the topic ${topic} of ${group} does not exist: ./ravand up creates it`);
      continue;
    }
    const found = ends.get(topic) ?? (await topicEnds(admin, topic));
    ends.set(topic, found);
    const own =
      group === meteringGroup(topic) && counted
        ? (counted.get(topic) ?? new Map<number, number>())
        : commits.get(group)?.get(topic);
    if (own === undefined || own.size === 0)
      if (found.some(({ low, high }) => high > low))
        problems.push(`${group} has never committed on ${topic}: is the part up? ./ravand status`);
    for (const { partition, low, high } of found)
      standings.push({ group, topic, partition, low, end: high, position: own?.get(partition) });
  }
  return { at: Date.now(), standings, problems };
}

/**
 * When the oldest unread record of each standing was appended, ms since the epoch, by
 * `positionKey`. What does not come in time is left out.
 */
export async function appendTimes(
  standings: readonly GroupOffset[],
  settings: KafkaSettings,
): Promise<Map<string, number>> {
  const wanted = new Map<string, { topic: string; partition: number; offset: number }>();
  for (const standing of standings) {
    const offset = oldestUnread(standing);
    if (offset === undefined) continue;
    const position = { topic: standing.topic, partition: standing.partition, offset };
    wanted.set(positionKey(position), position);
  }
  const times = new Map<string, number>();
  const records = connectRecordReader({ settings, name: 'ravand-lag' });
  const deadline = Date.now() + UNREAD_MS;
  try {
    // The reader takes each partition once: groups that stand at different places of it are read in
    // rounds.
    while (wanted.size > 0 && Date.now() < deadline) {
      const round = [
        ...Map.groupBy(wanted.values(), ({ topic, partition }) => `${topic}/${partition}`).values(),
      ].flatMap((positions) => positions.slice(0, 1));
      const found = await records.read(round, Math.max(1, deadline - Date.now()));
      for (const [at, position] of round.entries()) {
        wanted.delete(positionKey(position));
        const record = found[at];
        if (record) times.set(positionKey(position), record.appendedAt);
      }
    }
  } catch {
    // A time that is not known is shown as not known.
  } finally {
    await records.close();
  }
  return times;
}

/** How long each topic keeps its records, ms; 0: for ever. */
export async function retentions(
  admin: Admin,
  topics: readonly string[],
): Promise<Map<string, number>> {
  if (topics.length === 0) return new Map();
  const answer = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map((name) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name,
      configNames: ['retention.ms'],
    })),
  });
  return new Map(
    answer.resources.map(({ resourceName, configEntries }) => [
      resourceName,
      Math.max(0, Number(configEntries[0]?.configValue ?? 0)),
    ]),
  );
}

/**
 * Known readers first, whether they ever committed or not; then whatever else has committed
 * somewhere.
 */
function readersOf(commits: ReadonlyMap<string, ReadonlyMap<string, unknown>>): Reader[] {
  const known = new Set(READERS.map(({ group, topic }) => `${group}\n${topic}`));
  const others = [...commits].flatMap(([group, topics]) =>
    [...topics.keys()].map((topic) => ({ group, topic })),
  );
  return [...READERS, ...others.filter(({ group, topic }) => !known.has(`${group}\n${topic}`))];
}

async function commitsOf(admin: Admin, groupId: string): Promise<Map<string, Map<number, number>>> {
  const entries = await admin.fetchOffsets({ groupId });
  return new Map(
    entries.flatMap(({ topic, partitions }) => {
      const committed = partitions
        .map(({ partition, offset }) => [partition, Number(offset)] as const)
        .filter(([, offset]) => offset >= 0);
      return committed.length === 0 ? [] : [[topic, new Map(committed)]];
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
