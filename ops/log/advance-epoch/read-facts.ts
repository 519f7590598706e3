import type { Admin } from 'kafkajs';
import { committedOffsets, offsetsAt, topicEnds } from '../../../platform/kafka/admin.ts';
import { contradictionIn } from '../../../platform/kafka/log-guard.ts';
import type { LogProbe } from '../../../platform/kafka/log-probe.ts';
import { physicalTopic } from '../../../platform/kafka/topic-names.ts';
import { readEpochs } from '../../../platform/log/epochs.ts';
import { readEvidence } from '../../../platform/log/evidence-store.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { CONSUMER_GROUPS, TOPICS, type Topic } from '../../../schemas/topology.ts';
import type { GroupPosition, KnownEvidence, PartitionFacts } from './plan.ts';

interface Servers {
  admin: Admin;
  database: Database;
  probe: LogProbe;
}

/** Every partition of every topic, compared with what its readers know. */
export async function readFacts({ admin, database, probe }: Servers): Promise<PartitionFacts[]> {
  const present = new Set(await admin.listTopics());
  const evidence = await readEvidence(database);
  const facts: PartitionFacts[] = [];
  for (const { topic } of TOPICS) {
    const ends = await topicEnds(admin, topic).catch((error: unknown) => {
      if (present.has(physicalTopic(topic))) throw error;
      return [];
    });
    const epochs = await readEpochs(database, topic);
    const groups = await groupsOf(admin, topic);
    for (const { partition, low, high } of ends) {
      const of = { topic, partition };
      const own = evidence.filter((one) => one.topic === topic && one.partition === partition);
      const compared: KnownEvidence[] = [];
      for (const { reader, next, appendedAt, checksum } of own) {
        const known = { next, appendedAt, checksum };
        const contradiction = await contradictionIn(probe, of, known);
        const appendedAfter =
          contradiction && appendedAt >= 0
            ? (await offsetsAt(admin, topic, appendedAt + 1)).get(partition)
            : undefined;
        compared.push({ reader, ...known, contradiction, appendedAfter });
      }
      facts.push({
        ...{ topic, partition, low, high, epochs: epochs.of(partition), evidence: compared },
        groups: groups.map(({ group, committed }) => ({
          group,
          committed: committed.get(partition),
        })),
      });
    }
  }
  return facts;
}

interface GroupOffsets {
  group: GroupPosition['group'];
  committed: ReadonlyMap<number, number | undefined>;
}

async function groupsOf(admin: Admin, topic: Topic): Promise<GroupOffsets[]> {
  const found: GroupOffsets[] = [];
  for (const { group } of CONSUMER_GROUPS.filter((one) => one.topic === topic))
    found.push({ group, committed: await committedOffsets(admin, group, topic) });
  return found;
}
