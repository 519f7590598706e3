import { committedOffsets, topicEnds } from '../../platform/kafka/admin.ts';
import { LogProbe } from '../../platform/kafka/log-probe.ts';
import { physicalTopic } from '../../platform/kafka/topic-names.ts';
import { readEpochs } from '../../platform/log/epochs.ts';
import { readAdvances } from '../../platform/log/evidence-store.ts';
import { readLayout } from '../../platform/log/layout.ts';
import { CONSUMER_GROUPS, TOPICS, type Topic } from '../../schemas/topology.ts';
import type { Connections } from '../jobs/connections.ts';
import { requireAgreedLog } from '../log/agreed-log.ts';
import { ownSettings } from '../log/rewrite/copy-settings.ts';
import { archivePartition, type Archived, type Archiver } from './archive-partition.ts';
import type { ArchiveStore } from './archive-store.ts';
import { descriptionFolder, isFolderOf, nameAt, OFFSETS_FOLDER } from './object-names.ts';
import { readPositions } from './positions.ts';

/** How a topic is created again. */
export interface TopicDescription {
  partitions: number;
  replicas: number;
  settings: [string, string][];
}

/** Committed offsets of one group in one topic, by partition. */
export interface GroupOffsets {
  group: string;
  topic: string;
  offsets: [number, number][];
}

export interface ArchiveReport extends Archived {
  /** Objects of topics that were rewritten, which are removed. */
  removed: number;
}

/** What follows from events.raw is read before it: the archive holds the records it names. */
const TOPICS_IN_ORDER: readonly Topic[] = TOPICS.map(({ topic }) => topic).reverse();
/** So many times committed offsets are kept. */
const KEPT_OFFSETS = 100;

/**
 * Archives what is new in every topic. May be killed, repeated and run twice at the same time. A
 * topic that was rewritten is archived anew; then what was archived of the former one is removed,
 * because it holds erased people.
 */
export async function archiveLog(
  connections: Connections,
  {
    store,
    objectBytes,
    signal,
    now,
  }: { store: ArchiveStore; objectBytes: number; signal: AbortSignal; now: () => number },
): Promise<ArchiveReport> {
  const { admin, database, settings } = connections;
  await requireAgreedLog({ settings, database }, TOPICS_IN_ORDER);
  const { epoch: newestEpoch } = await readAdvances(database);
  const probe = new LogProbe(settings);
  const archiver: Archiver = { connections, store, probe, objectBytes, newestEpoch, signal };
  const report: ArchiveReport = { records: 0, objects: 0, missed: 0, removed: 0 };
  try {
    // Before the ends are read: the archive then holds what the groups have processed.
    const committed = await committedByGroup(connections);
    for (const topic of TOPICS_IN_ORDER) {
      const physical = physicalTopic(topic);
      const epochs = await readEpochs(database, topic);
      const positions = await readPositions(database, { topic, physical, store: store.id });
      await describeTopic(connections, { store, physical, now });
      for (const { partition, low, high } of await topicEnds(admin, topic)) {
        signal.throwIfAborted();
        const position = positions.get(partition);
        const of = { topic, physical, partition, low, high, epochs: epochs.of(partition) };
        const found = await archivePartition(archiver, { ...of, position });
        report.records += found.records;
        report.objects += found.objects;
        report.missed += found.missed;
      }
    }
    await store.put(nameAt(OFFSETS_FOLDER, now()), Buffer.from(JSON.stringify(committed)));
    const former = (await store.list(OFFSETS_FOLDER)).slice(0, -KEPT_OFFSETS);
    for (const name of former) await store.remove(name);
    report.removed = await removeFormer(connections, store);
    return report;
  } finally {
    await probe.close();
  }
}

async function committedByGroup({ admin }: Connections): Promise<GroupOffsets[]> {
  const found: GroupOffsets[] = [];
  for (const { group, topic } of CONSUMER_GROUPS) {
    const committed = await committedOffsets(admin, group, topic);
    const offsets = [...committed].flatMap(([partition, offset]): [number, number][] =>
      offset === undefined ? [] : [[partition, offset]],
    );
    found.push({ group, topic, offsets });
  }
  return found;
}

async function describeTopic(
  { admin }: Connections,
  { store, physical, now }: { store: ArchiveStore; physical: string; now: () => number },
): Promise<void> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [physical] });
  const partitions = topics[0]?.partitions ?? [];
  const description: TopicDescription = {
    partitions: partitions.length,
    replicas: partitions[0]?.replicas.length ?? 1,
    settings: (await ownSettings(admin, physical)).sort(([a], [b]) => (a < b ? -1 : 1)),
  };
  const text = JSON.stringify(description);
  const last = (await store.list(descriptionFolder(physical))).at(-1);
  if (last !== undefined && (await store.get(last)).toString() === text) return;
  await store.put(nameAt(descriptionFolder(physical), now()), Buffer.from(text));
}

/** Everything of the topics that replaced them is archived. */
async function removeFormer(
  { admin, database }: Connections,
  store: ArchiveStore,
): Promise<number> {
  const layout = await readLayout(database);
  const present = await admin.listTopics();
  let removed = 0;
  for (const folder of await store.folders()) {
    const topic = TOPICS_IN_ORDER.find((one) => isFolderOf(one, folder));
    if (topic === undefined || folder === physicalTopic(topic)) continue;
    // Renamed since this command began, or PostgreSQL is from before: the next run decides.
    if (layout?.phase !== 'steady' || (layout.topics[topic] ?? topic) !== physicalTopic(topic))
      continue;
    if (present.includes(folder)) continue;
    for (const name of await store.list(`${folder}/`)) {
      await store.remove(name);
      removed++;
    }
  }
  return removed;
}
