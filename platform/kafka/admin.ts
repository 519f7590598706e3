import kafkajs, { type Admin } from 'kafkajs';
import { withDeadline } from '../deadline.ts';
import { kafkajsConnection, type KafkaSettings } from './connection.ts';
import { formerTopic, logicalTopic, physicalTopic, topicNamesKnown } from './topic-names.ts';

/** `low`: first retained offset; `high`: high watermark, the offset of the next record. */
export interface PartitionEnds {
  partition: number;
  low: number;
  high: number;
}

/** Runs `work` with an admin client of its own, and disconnects it afterwards. */
export async function withKafkaAdmin<T>(
  settings: KafkaSettings,
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  const admin = new kafkajs.Kafka(kafkajsConnection(settings, 'ravand-admin')).admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** Low and high watermarks of a topic, sorted by partition. Rejects when the topic is missing. */
export async function topicEnds(admin: Admin, topic: string): Promise<PartitionEnds[]> {
  await topicNamesKnown();
  const offsets = await admin.fetchTopicOffsets(physicalTopic(topic));
  return offsets
    .map(({ partition, low, high }) => ({ partition, low: Number(low), high: Number(high) }))
    .sort((a, b) => a.partition - b.partition);
}

/**
 * By partition, the offset of the first record appended at or after `time` (ms since the epoch);
 * undefined: there is none.
 */
export async function offsetsAt(
  admin: Admin,
  topic: string,
  time: number,
): Promise<Map<number, number | undefined>> {
  await topicNamesKnown();
  const offsets = await admin.fetchTopicOffsetsByTimestamp(physicalTopic(topic), time);
  return new Map(
    offsets.map(({ partition, offset }) => [
      partition,
      Number(offset) < 0 ? undefined : Number(offset),
    ]),
  );
}

/** Committed offset of a group per partition; undefined where it has never committed. */
export async function committedOffsets(
  admin: Admin,
  groupId: string,
  topic: string,
): Promise<Map<number, number | undefined>> {
  await topicNamesKnown();
  const committed = await committedTo(admin, groupId, physicalTopic(topic));
  const former = formerTopic(topic);
  if (former === undefined || [...committed.values()].every((offset) => offset !== undefined))
    return committed;
  // Offsets of a topic and of the one that it replaced are equal.
  const before = await committedToFormer(admin, groupId, former);
  return new Map(
    [...committed].map(([partition, offset]) => [partition, offset ?? before.get(partition)]),
  );
}

/**
 * Of a topic that may be deleted at any moment. It is not named to the client, which would ask for
 * its metadata from then on, and fail with every other topic.
 */
async function committedToFormer(
  admin: Admin,
  groupId: string,
  name: string,
): Promise<Map<number, number>> {
  const all = await admin.fetchOffsets({ groupId });
  const partitions = all.find(({ topic }) => topic === name)?.partitions ?? [];
  return new Map(
    partitions.flatMap(({ partition, offset }) =>
      Number(offset) < 0 ? [] : [[partition, Number(offset)]],
    ),
  );
}

async function committedTo(
  admin: Admin,
  groupId: string,
  name: string,
): Promise<Map<number, number | undefined>> {
  const [entry] = await admin.fetchOffsets({ groupId, topics: [name] });
  return new Map(
    entry?.partitions.map(({ partition, offset }) => [
      partition,
      Number(offset) < 0 ? undefined : Number(offset),
    ]),
  );
}

/**
 * Largest record batch of each topic in bytes (max.message.bytes, or the broker's message.max.bytes
 * where the topic has none). Rejects without Kafka, or without the right to describe the topics.
 */
export async function maxMessageBytes(
  settings: KafkaSettings,
  { topics, ms }: { topics: readonly string[]; ms: number },
): Promise<ReadonlyMap<string, number>> {
  const connection = kafkajsConnection(settings, 'ravand-admin');
  const admin = new kafkajs.Kafka({ ...connection, retry: { retries: 1 } }).admin();
  const work = async () => {
    await topicNamesKnown();
    await admin.connect();
    const name = 'max.message.bytes';
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: topics.map((topic) => ({
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name: physicalTopic(topic),
        configNames: [name],
      })),
    });
    return new Map(
      resources.flatMap(({ resourceName, configEntries }): [string, number][] => {
        const value = Number(configEntries.find((entry) => entry.configName === name)?.configValue);
        return Number.isSafeInteger(value) && value > 0
          ? [[logicalTopic(resourceName), value]]
          : [];
      }),
    );
  };
  try {
    return await withDeadline({ ms, waitingFor: 'the record limits of the topics' }, work());
  } finally {
    admin.disconnect().catch(() => undefined);
  }
}
