import kafka from 'node-rdkafka';
import { withKafkaAdmin } from '../../platform/kafka/admin.ts';
import { rdkafkaConnection } from '../../platform/kafka/connection.ts';
import { kafkaSettings } from '../../platform/settings-common.ts';
import { parseSettings } from '../../platform/settings.ts';
import { readyStack } from './stack.ts';

export interface Message {
  partition: number;
  offset: number;
  key: string | null;
  value: Buffer;
}

function settings() {
  return parseSettings(kafkaSettings, { KAFKA_BROKERS: readyStack().kafka_brokers });
}

/** The offset that the next record of each partition gets. */
export async function topicEnds(topic: string): Promise<Map<number, number>> {
  const offsets = await withKafkaAdmin(settings(), (admin) => admin.fetchTopicOffsets(topic));
  return new Map(offsets.map(({ partition, high }) => [partition, Number(high)]));
}

/** Everything between two sets of ends, by partition and offset; checksums are verified. */
export async function readTopic({
  topic,
  from,
  to,
}: {
  topic: string;
  from: ReadonlyMap<number, number>;
  to: ReadonlyMap<number, number>;
}): Promise<Message[]> {
  const open = new Map([...to].filter(([partition, end]) => end > (from.get(partition) ?? 0)));
  if (open.size === 0) return [];
  const config = {
    ...rdkafkaConnection(settings()),
    'group.id': 'test-reader',
    'enable.auto.commit': false,
    'check.crcs': true,
    'fetch.message.max.bytes': 20_000_000,
  };
  const consumer = new kafka.KafkaConsumer(config, {});
  await new Promise<void>((resolve, reject) =>
    consumer.connect({}, (error: unknown) => settle(error, resolve, reject)),
  );
  try {
    consumer.assign(
      [...open.keys()].map((partition) => ({ topic, partition, offset: from.get(partition) ?? 0 })),
    );
    const messages: Message[] = [];
    for (let rounds = 0; open.size > 0 && rounds < 1000; rounds++) {
      const batch = await new Promise<kafka.Message[]>((resolve, reject) =>
        consumer.consume(500, (error: unknown, found) =>
          settle(error, () => resolve(found), reject),
        ),
      );
      for (const { partition, offset, key, value } of batch) {
        if (offset >= (to.get(partition) ?? 0)) continue;
        messages.push({
          partition,
          offset,
          key: key === null || key === undefined ? null : key.toString(),
          value: value ?? Buffer.alloc(0),
        });
        if (offset + 1 >= (open.get(partition) ?? 0)) open.delete(partition);
      }
    }
    return messages.sort((a, b) => a.partition - b.partition || a.offset - b.offset);
  } finally {
    await new Promise<void>((resolve) => consumer.disconnect(() => resolve()));
  }
}

function settle(error: unknown, resolve: () => void, reject: (error: Error) => void): void {
  if (error === null || error === undefined) resolve();
  else reject(error instanceof Error ? error : new Error(JSON.stringify(error)));
}
