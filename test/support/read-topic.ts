import { topicEnds as endsOf, withKafkaAdmin } from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { readTopicNamesFrom } from '../../platform/kafka/topic-names.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { createLog } from '../../platform/log.ts';
import { topicNamesOf } from '../../platform/log/topic-names.ts';
import { kafkaSettings } from '../../platform/settings-common.ts';
import { parseSettings } from '../../platform/settings.ts';
import { kafkaEnvironment } from './service-process.ts';
import { readyStack } from './stack.ts';

export interface Message {
  partition: number;
  offset: number;
  key: string | null;
  value: Buffer;
}

/** Offsets by partition. */
type Offsets = ReadonlyMap<number, number>;

/** Its topics have the names that the layout gives them now: a test may have rewritten one. */
export function stackKafka(): KafkaSettings {
  const ready = readyStack();
  const url = ready.database_url;
  readTopicNamesFrom(() => topicNamesOf({ url, log: createLog({ part: 'test', level: 'error' }) }));
  return parseSettings(kafkaSettings, kafkaEnvironment(ready));
}

/** The offset that the next record of each partition gets. */
export async function topicEnds(topic: string): Promise<Map<number, number>> {
  const ends = await withKafkaAdmin(stackKafka(), (admin) => endsOf(admin, topic));
  return new Map(ends.map(({ partition, high }) => [partition, high]));
}

/** The records of a topic between two sets of ends, by partition and offset. */
export async function readTopic(range: {
  topic: string;
  from: Offsets;
  to: Offsets;
}): Promise<Message[]> {
  const messages: Message[] = [];
  for (const [partition, to] of [...range.to].sort(([a], [b]) => a - b)) {
    const batches = readRange({
      settings: stackKafka(),
      clientId: 'test-reader',
      range: { topic: range.topic, partition, from: range.from.get(partition) ?? 0, to },
      signal: AbortSignal.timeout(120_000),
    });
    for await (const batch of batches)
      for (const { offset, key, value } of batch)
        messages.push({
          partition,
          offset,
          key: key?.toString() ?? null,
          value: value ?? Buffer.alloc(0),
        });
  }
  return messages;
}

/** All records that a topic holds now. */
export async function readWholeTopic(topic: string): Promise<Message[]> {
  const ends = await withKafkaAdmin(stackKafka(), (admin) => endsOf(admin, topic));
  return readTopic({
    topic,
    from: new Map(ends.map(({ partition, low }) => [partition, low])),
    to: new Map(ends.map(({ partition, high }) => [partition, high])),
  });
}
