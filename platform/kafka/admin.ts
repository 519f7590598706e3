import kafkajs, { type Admin } from 'kafkajs';
import { kafkajsConnection, type KafkaSettings } from './connection.ts';

/** First offset that is kept and the offset that the next record will get, of one partition. */
export interface PartitionEnds {
  partition: number;
  low: number;
  high: number;
}

/** Runs one piece of administration over a connection of its own. */
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

/** Ends of every partition of a topic, by partition. Rejects when the topic does not exist. */
export async function topicEnds(admin: Admin, topic: string): Promise<PartitionEnds[]> {
  const offsets = await admin.fetchTopicOffsets(topic);
  return offsets
    .map(({ partition, low, high }) => ({ partition, low: Number(low), high: Number(high) }))
    .sort((a, b) => a.partition - b.partition);
}

/** The offset that a group reads next, per partition; undefined where it has never committed. */
export async function committedOffsets(
  admin: Admin,
  groupId: string,
  topic: string,
): Promise<Map<number, number | undefined>> {
  const [entry] = await admin.fetchOffsets({ groupId, topics: [topic] });
  return new Map(
    entry?.partitions.map(({ partition, offset }) => [
      partition,
      Number(offset) < 0 ? undefined : Number(offset),
    ]),
  );
}
