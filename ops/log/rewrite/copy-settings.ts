import kafkajs, { type Admin } from 'kafkajs';
import { delay } from '../../../platform/backoff.ts';

const TIMESTAMPS = 'message.timestamp.type';

/** The same partitions, replicas and settings; copied records keep their append times. */
export async function createCopy(
  admin: Admin,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [from] });
  const partitions = topics[0]?.partitions ?? [];
  const entries = new Map(await ownSettings(admin, from)).set(TIMESTAMPS, 'CreateTime');
  // Nothing of the copy may be removed before it is complete.
  entries.set('retention.ms', '-1');
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

/** The settings that the topic itself has. */
async function ownSettings(admin: Admin, name: string): Promise<[string, string][]> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name }],
  });
  return (resources[0]?.configEntries ?? [])
    .filter(({ configSource }) => configSource === kafkajs.ConfigSource.TOPIC_CONFIG)
    .map(({ configName, configValue }) => [configName, configValue]);
}

const IN_SYNC = 'min.insync.replicas';
/** In this time every broker knows the fence, and readers have stored what they know, ms. */
const FENCE_MS = 2000;

/**
 * More in-sync replicas than the topic has: no write is acknowledged any more. True when it was
 * not fenced before; what came meanwhile is to be copied then.
 */
export async function fence(admin: Admin, from: string): Promise<boolean> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [from] });
  const needed = String((topics[0]?.partitions[0]?.replicas.length ?? 1) + 1);
  const entries = new Map(await ownSettings(admin, from));
  if (entries.get(IN_SYNC) === needed) return false;
  await replaceSettings(admin, from, entries.set(IN_SYNC, needed));
  await delay(FENCE_MS);
  return true;
}

/** The former topic accepts records again; the copy has the setting that it had. */
export async function unfence(
  admin: Admin,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await replaceSettings(admin, from, await unfencedSettings(admin, { from, to }));
}

/** The settings of the former topic without the fence. */
export async function unfencedSettings(
  admin: Admin,
  { from, to }: { from: string; to: string },
): Promise<Map<string, string>> {
  const entries = new Map(await ownSettings(admin, from));
  const inSync = new Map(await ownSettings(admin, to)).get(IN_SYNC);
  if (inSync === undefined) entries.delete(IN_SYNC);
  else entries.set(IN_SYNC, inSync);
  return entries;
}

export async function replaceSettings(
  admin: Admin,
  name: string,
  entries: ReadonlyMap<string, string>,
): Promise<void> {
  await admin.alterConfigs({
    validateOnly: false,
    resources: [
      {
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name,
        configEntries: [...entries].map(([key, value]) => ({ name: key, value })),
      },
    ],
  });
}
