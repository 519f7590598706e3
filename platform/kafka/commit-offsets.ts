import { withCluster } from './cluster.ts';
import type { KafkaSettings } from './connection.ts';
import { physicalTopic, topicNamesKnown } from './topic-names.ts';

/** An offset commit of no member; the broker takes it while the group is empty. */
const NO_MEMBER = { groupGenerationId: -1, memberId: '' };

/**
 * Sets the committed offsets of a group without members; `offsets`: by partition. Rejects when it
 * has members. Nothing joins the group, as `setOffsets` of kafkajs does: a process that is killed
 * meanwhile leaves no member, which would count as a running service until its session ends.
 */
export async function commitOffsets(
  settings: KafkaSettings,
  of: { group: string; topic: string; offsets: ReadonlyMap<number, number> },
): Promise<void> {
  await topicNamesKnown();
  const partitions = [...of.offsets].map(([partition, offset]) => ({
    ...{ partition, offset: String(offset) },
  }));
  const topics = [{ topic: physicalTopic(of.topic), partitions }];
  await withCluster(settings, async (cluster) => {
    const coordinator = await cluster.findGroupCoordinator({ groupId: of.group });
    await coordinator.offsetCommit({ groupId: of.group, ...NO_MEMBER, topics });
  });
}
