import kafkajs, { type Admin } from 'kafkajs';
import { kafkajsConnection, type KafkaSettings } from './connection.ts';
import { readConsumerGroups, writeGroupIds, type GroupMember } from './group-describe.ts';

const CONSUMER_GROUP_DESCRIBE = 69;

/** What kafkajs keeps private: the newer group protocol needs a request that it does not have. */
interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  findGroupCoordinator(of: { groupId: string }): Promise<{
    versions: Record<number, unknown>;
    connectionPool: { send(request: object): Promise<unknown> };
  }>;
}

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
  const cluster = clusterOf(settings);
  await cluster.connect();
  try {
    for (const group of others) found.set(group, await describe(cluster, group));
  } finally {
    await cluster.disconnect();
  }
  return found;
}

function partitionsOf(assignment: Buffer): ReadonlyMap<string, readonly number[]> {
  const decoded =
    assignment.length === 0
      ? undefined
      : kafkajs.AssignerProtocol.MemberAssignment.decode(assignment);
  return new Map(Object.entries(decoded?.assignment ?? {}));
}

function clusterOf(settings: KafkaSettings): Cluster {
  const client = new kafkajs.Kafka(kafkajsConnection(settings, 'ravand-admin'));
  const create = Object.getOwnPropertySymbols(client).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  if (create === undefined) throw new Error('this version of kafkajs creates clusters elsewhere');
  return (client as unknown as Record<symbol, (options: object) => Cluster>)[create]?.(
    {},
  ) as Cluster;
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
