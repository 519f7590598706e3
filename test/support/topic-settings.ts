import kafkajs, { type Admin } from 'kafkajs';
import { withKafkaAdmin } from '../../platform/kafka/admin.ts';
import { stackKafka } from './read-topic.ts';
import { eventually } from './stack.ts';

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
  const wait = { ms: 120_000, waitingFor: `broker ${broker} to lead ${topic}-${partition}` };
  await withKafkaAdmin(stackKafka(), async (admin) => {
    await eventually({ ms: 120_000, waitingFor: `broker ${broker} to register` }, async () => {
      const { brokers } = await admin.describeCluster();
      return brokers.some(({ nodeId }) => nodeId === broker) ? true : undefined;
    });
    const partitionAssignment = [{ partition, replicas: [broker] }];
    await admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment }] });
    await eventually(wait, async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      const found = topics[0]?.partitions.find((one) => one.partitionId === partition);
      return found?.leader === broker && found.replicas.length === 1 ? true : undefined;
    });
  });
}
