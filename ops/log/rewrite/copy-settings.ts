import kafkajs, { type Admin } from 'kafkajs';

export const TIMESTAMPS = 'message.timestamp.type';
const RETENTION = 'retention.ms';

/** The same partitions, replicas and settings; copied records keep their append times. */
export async function createCopy(
  admin: Admin,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [from] });
  const partitions = topics[0]?.partitions ?? [];
  const entries = new Map(await ownSettings(admin, from)).set(TIMESTAMPS, 'CreateTime');
  // Nothing of the copy may be removed before it is complete.
  entries.set(RETENTION, '-1');
  await admin.createTopics({
    waitForLeaders: true,
    timeout: 20_000,
    topics: [
      {
        topic: to,
        numPartitions: partitions.length,
        replicationFactor: partitions[0]?.replicas.length ?? 1,
        configEntries: [...entries].map(([name, value]) => ({ name, value })),
      },
    ],
  });
}

/** False once `finishCopy` was called: records would no longer keep their append times. */
export async function isOpenCopy(admin: Admin, to: string): Promise<boolean> {
  const entries = new Map(await ownSettings(admin, to));
  return entries.get(TIMESTAMPS) === 'CreateTime' && entries.get(RETENTION) === '-1';
}

/** The copy gets the settings of the topic. */
export async function finishCopy(
  admin: Admin,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await changeSettings(admin, to, await ownSettings(admin, from));
}

/** The topic gets these settings, and keeps no others of its own. */
export async function changeSettings(
  admin: Admin,
  name: string,
  entries: readonly [string, string][],
): Promise<void> {
  await admin.alterConfigs({
    validateOnly: false,
    resources: [
      {
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name,
        configEntries: entries.map(([key, value]) => ({ name: key, value })),
      },
    ],
  });
}

/** The settings that the topic itself has. */
export async function ownSettings(admin: Admin, name: string): Promise<[string, string][]> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name }],
  });
  return (resources[0]?.configEntries ?? [])
    .filter(({ configSource }) => configSource === kafkajs.ConfigSource.TOPIC_CONFIG)
    .map(({ configName, configValue }) => [configName, configValue]);
}
