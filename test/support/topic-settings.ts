import kafkajs, { type Admin } from 'kafkajs';
import { withKafkaAdmin } from '../../platform/kafka/admin.ts';
import { stackKafka } from './read-topic.ts';

/** Sets one configuration value of a topic and keeps the others; answers what it was. */
export async function setTopicConfig(
  topic: string,
  { name, value }: { name: string; value: string },
): Promise<string> {
  return withKafkaAdmin(stackKafka(), async (admin) => {
    const before = await ownConfig(admin, topic);
    const entries = new Map(before).set(name, value);
    await admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: kafkajs.ConfigResourceTypes.TOPIC,
          name: topic,
          configEntries: [...entries].map(([key, text]) => ({ name: key, value: text })),
        },
      ],
    });
    return before.get(name) ?? '';
  });
}

async function ownConfig(admin: Admin, topic: string): Promise<Map<string, string>> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic }],
  });
  const entries = resources[0]?.configEntries ?? [];
  return new Map(
    entries
      .filter((entry) => entry.configSource === kafkajs.ConfigSource.TOPIC_CONFIG)
      .map((entry) => [entry.configName, entry.configValue]),
  );
}

/** Gives a partition one replica, and waits until that broker leads it. */
export async function movePartition(of: {
  topic: string;
  partition: number;
  broker: number;
}): Promise<void> {
  const { topic, partition, broker } = of;
  await withKafkaAdmin(stackKafka(), async (admin) => {
    for (let attempt = 0; attempt < 200; attempt++) {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      const found = topics[0]?.partitions.find((one) => one.partitionId === partition);
      if (found?.leader === broker && found.replicas.length === 1) return;
      const partitionAssignment = [{ partition, replicas: [broker] }];
      // Refused until the broker is registered, and while the partition moves.
      await admin
        .alterPartitionReassignments({ topics: [{ topic, partitionAssignment }] })
        .catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    throw new Error(`broker ${broker} does not lead partition ${partition} of ${topic}`);
  });
}
