import { randomUUID } from 'node:crypto';
import { topicEnds, withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../../platform/kafka/connection.ts';
import { startPartitionConsumer } from '../../../platform/kafka/consumer.ts';
import { createLog } from '../../../platform/log.ts';

/** All values that a topic of one partition holds now. */
export async function readTopic(settings: KafkaSettings, topic: string): Promise<Buffer[]> {
  const [end] = await withKafkaAdmin(settings, (admin) => topicEnds(admin, topic));
  const count = (end?.high ?? 0) - (end?.low ?? 0);
  const values: Buffer[] = [];
  if (count === 0) return values;
  return new Promise((resolve, reject) => {
    const consumer = startPartitionConsumer({
      settings,
      log: createLog({ part: 'test', level: 'error' }),
      groupId: `read-${randomUUID()}`,
      clientId: 'test',
      topic,
      batch: { records: 1000, bytes: 10_000_000, linger: 0 },
      crash: reject,
      assigned: () =>
        Promise.resolve({
          from: undefined,
          take(messages) {
            for (const { value } of messages) if (value) values.push(value);
            if (values.length >= count)
              void consumer.then((one) => one.close()).then(() => resolve(values), reject);
            return Promise.resolve(undefined);
          },
          release: () => Promise.resolve(),
        }),
    });
  });
}
