import kafkajs, { type Admin } from 'kafkajs';
import { withCluster, type Cluster } from './cluster.ts';
import type { KafkaSettings } from './connection.ts';
import { readConsumerGroups, writeGroupIds, type GroupMember } from './group-describe.ts';

const CONSUMER_GROUP_DESCRIBE = 69;

/**
 * The members of each group, whichever protocol they use (KAFKA_GROUP_PROTOCOL): a group with one
 * member of the newer protocol is invisible to requests of the classic one.
 */
export async function groupMembers(
  admin: Admin,
  settings: KafkaSettings,
  groups: readonly string[],
): Promise<ReadonlyMap<string, readonly GroupMember[]>> {
  const found = new Map<string, readonly GroupMember[]>();
  const { groups: classic } = await admin.describeGroups([...groups]);
  for (const { groupId, members } of classic)
    if (members.length > 0)
      found.set(
        groupId,
        members.map(({ clientId, clientHost, memberAssignment }) => ({
          ...{ clientId, clientHost, partitions: partitionsOf(memberAssignment) },
        })),
      );
  const others = groups.filter((group) => !found.has(group));
  if (others.length === 0) return found;
  await withCluster(settings, async (cluster) => {
    for (const group of others) found.set(group, await describe(cluster, group));
  });
  return found;
}

function partitionsOf(assignment: Buffer): ReadonlyMap<string, readonly number[]> {
  const decoded =
    assignment.length === 0
      ? undefined
      : kafkajs.AssignerProtocol.MemberAssignment.decode(assignment);
  return new Map(Object.entries(decoded?.assignment ?? {}));
}

/** Members of a group of the newer protocol; none when there is no such group. */
async function describe(cluster: Cluster, group: string): Promise<GroupMember[]> {
  const { versions, connectionPool } = await cluster.findGroupCoordinator({ groupId: group });
  // A broker before 4.0 has classic groups only.
  if (!(CONSUMER_GROUP_DESCRIBE in versions)) return [];
  const request = writeGroupIds([group]);
  const answer = await connectionPool.send({
    request: {
      ...{ apiKey: CONSUMER_GROUP_DESCRIBE, apiVersion: 0, apiName: 'ConsumerGroupDescribe' },
      encode: () => Promise.resolve({ buf: request, buffer: request }),
    },
    response: {
      decode: (bytes: Buffer) => Promise.resolve(bytes),
      parse: (bytes: Buffer) => Promise.resolve(bytes),
    },
  });
  return readConsumerGroups(answer as Buffer).flatMap(({ members }) => members);
}
