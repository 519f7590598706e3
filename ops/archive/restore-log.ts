import type { Admin } from 'kafkajs';
import { CommandError } from '../../cli/command.ts';
import { retry } from '../../platform/backoff.ts';
import { topicEnds } from '../../platform/kafka/admin.ts';
import { commitOffsets } from '../../platform/kafka/commit-offsets.ts';
import { exactTopic, physicalTopic } from '../../platform/kafka/topic-names.ts';
import { TOPICS, type Topic } from '../../schemas/topology.ts';
import type { Connections } from '../jobs/connections.ts';
import { CopyDiffers } from '../log/rewrite/append-at-offsets.ts';
import { changeSettings, isOpenCopy, TIMESTAMPS } from '../log/rewrite/copy-settings.ts';
import { openProducer } from '../log/rewrite/servers.ts';
import type { GroupOffsets, TopicDescription } from './archive-log.ts';
import type { ArchiveStore } from './archive-store.ts';
import { descriptionFolder, isFolderOf, OFFSETS_FOLDER, parseObjectName } from './object-names.ts';
import { planRestore, type RestorePlan } from './plan.ts';
import { restorePartition } from './restore-partition.ts';

/** One topic as the archive has it. */
export interface RestorableTopic {
  topic: Topic;
  /** The folder of the archive. */
  folder: string;
  description: TopicDescription;
  /** By partition. */
  plans: ReadonlyMap<number, RestorePlan>;
}

/** Every topic of the archive, under the physical name that was archived last. */
export async function readArchive(store: ArchiveStore): Promise<RestorableTopic[]> {
  const folders = await store.folders();
  const found: RestorableTopic[] = [];
  for (const { topic } of TOPICS) {
    const descriptions = await Promise.all(
      folders
        .filter((folder) => isFolderOf(topic, folder))
        .map(async (folder) => {
          const name = (await store.list(descriptionFolder(folder))).at(-1) ?? '';
          return { folder, name, at: name.slice(descriptionFolder(folder).length) };
        }),
    );
    const newest = descriptions
      .filter(({ name }) => name !== '')
      .sort(byTime)
      .at(-1);
    if (newest === undefined) continue;
    const { folder, name } = newest;
    const description = JSON.parse((await store.get(name)).toString()) as TopicDescription;
    const objects = (await store.list(`${folder}/`)).flatMap((one) => parseObjectName(one) ?? []);
    const byPartition = Map.groupBy(objects, ({ partition }) => partition);
    const plans = new Map([...byPartition].map(([at, own]) => [at, planRestore(own)]));
    found.push({ topic, folder, description, plans });
  }
  return found;
}

function byTime(a: { at: string }, b: { at: string }): number {
  return a.at < b.at ? -1 : 1;
}

export interface Restored {
  topic: string;
  records: number;
  state: 'restored' | 'was there';
}

/**
 * Writes the archive into Kafka: each record at its offset, with its append time, and the committed
 * offsets. Topics that are missing or empty are created as they were; one that holds records of its
 * own is refused. Killed, it continues with the next call.
 */
export async function restoreLog(
  connections: Connections,
  { store, signal }: { store: ArchiveStore; signal: AbortSignal },
): Promise<Restored[]> {
  const archive = await readArchive(store);
  if (archive.length === 0) throw new CommandError('the archive holds no topic');
  const gap = archive.flatMap(({ topic, plans }) =>
    [...plans].flatMap(([partition, { gaps }]) =>
      gaps.map(({ from, to }) => `${topic} ${partition}: offsets ${from} to ${to - 1}`),
    ),
  );
  if (gap.length > 0)
    throw new CommandError(`objects are missing in the archive: ${gap.join('; ')}`);
  const done: Restored[] = [];
  for (const one of archive) {
    signal.throwIfAborted();
    done.push(await again(() => restoreTopic(connections, { store, signal, ...one }), signal));
  }
  await again(() => restoreOffsets(connections, store), signal);
  return done;
}

/** A broker that has just started does not answer for every partition; steps may be repeated. */
function again<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const isFinal = (error: unknown) => error instanceof CommandError;
  return retry({ base: 500, cap: 5000, min: 250, attempts: 8, isFinal, signal }, step);
}

async function restoreTopic(
  connections: Connections,
  { store, signal, ...of }: RestorableTopic & { store: ArchiveStore; signal: AbortSignal },
): Promise<Restored> {
  const { admin } = connections;
  const { topic, description, plans } = of;
  const name = physicalTopic(topic);
  const state = await stateOf(admin, name, of);
  if (state === 'whole') return { topic, records: 0, state: 'was there' };
  if (state === 'other')
    throw new CommandError(
      `${name} has records that are not those of the archive: restore into a Kafka without them`,
    );
  if (state === 'empty') await admin.deleteTopics({ topics: [name] });
  if (state !== 'begun') await createTopic(admin, name, description);
  const producer = await openProducer(connections);
  try {
    const ends = await topicEnds(admin, exactTopic(name));
    for (const { partition, high } of ends) {
      const plan = plans.get(partition);
      if (!plan) continue;
      const to = { topic: name, partition, next: high };
      await restorePartition({ store, producer, signal }, { plan, to });
    }
  } catch (error) {
    if (!(error instanceof CopyDiffers)) throw error;
    await admin.deleteTopics({ topics: [name] });
    throw new CommandError(`a killed command was still writing ${name}: run this one again`);
  } finally {
    await producer.close(1000);
  }
  const heads = [...plans].filter(([, { low }]) => low > 0);
  if (heads.length > 0)
    await admin.deleteTopicRecords({
      topic: name,
      partitions: heads.map(([partition, { low }]) => ({ partition, offset: String(low) })),
    });
  await changeSettings(admin, name, description.settings);
  const records = [...plans.values()].reduce((sum, { low, high }) => sum + high - low, 0);
  return { topic, records, state: 'restored' };
}

/** `begun`: a killed command left it; `whole`: it ends where the archive ends. */
async function stateOf(
  admin: Admin,
  name: string,
  { plans }: Pick<RestorableTopic, 'plans'>,
): Promise<'missing' | 'empty' | 'begun' | 'whole' | 'other'> {
  if (!(await admin.listTopics()).includes(name)) return 'missing';
  if (await isOpenCopy(admin, name)) return 'begun';
  const ends = await topicEnds(admin, exactTopic(name));
  const wanted = Math.max(0, ...[...plans.values()].map(({ high }) => high));
  if (ends.every(({ high }) => high === 0)) return wanted === 0 ? 'whole' : 'empty';
  return ends.every(({ partition, high }) => high === (plans.get(partition)?.high ?? 0))
    ? 'whole'
    : 'other';
}

/** As it was, except that records keep their append times and none is removed. */
async function createTopic(
  admin: Admin,
  name: string,
  { partitions, replicas, settings }: TopicDescription,
): Promise<void> {
  const { brokers } = await admin.describeCluster();
  const entries = new Map(settings).set(TIMESTAMPS, 'CreateTime').set('retention.ms', '-1');
  await admin.createTopics({
    waitForLeaders: true,
    timeout: 20_000,
    topics: [
      {
        topic: name,
        numPartitions: partitions,
        replicationFactor: Math.min(replicas, brokers.length),
        configEntries: [...entries].map(([key, value]) => ({ name: key, value })),
      },
    ],
  });
}

/** Groups continue where they were when the archive was written: not behind the end of the log. */
async function restoreOffsets(
  { admin, settings }: Connections,
  store: ArchiveStore,
): Promise<void> {
  const last = (await store.list(OFFSETS_FOLDER)).at(-1);
  if (last === undefined) return;
  const groups = JSON.parse((await store.get(last)).toString()) as GroupOffsets[];
  for (const { group, topic, offsets } of groups) {
    if (offsets.length === 0) continue;
    const ends = new Map(
      (await topicEnds(admin, topic)).map(({ partition, high }) => [partition, high]),
    );
    const within = offsets.map(([partition, offset]): [number, number] => [
      partition,
      Math.min(offset, ends.get(partition) ?? 0),
    ]);
    await commitOffsets(settings, { group, topic, offsets: new Map(within) });
  }
}
