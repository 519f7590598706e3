import { withKafkaAdmin } from './admin.ts';
import type { PartitionConsumerOptions } from './consumer-types.ts';

export type GroupProtocol = 'consumer' | 'classic';

/**
 * The protocol by which a member joins its group now: that of its settings, or classic while the
 * group has classic members. Kafka refuses a member of the newer protocol beside them for as long
 * as their assignor (cooperative-sticky) keeps data in the group: during a rolling upgrade, or
 * beside a named member. Rejects while no broker answers.
 */
export async function protocolToJoin({
  settings,
  groupId,
  instanceId = '',
}: Pick<PartitionConsumerOptions, 'settings' | 'groupId' | 'instanceId'>): Promise<GroupProtocol> {
  if (instanceId !== '' || settings.KAFKA_GROUP_PROTOCOL === 'classic') return 'classic';
  // A group of the newer protocol is described as one without members.
  const { groups } = await withKafkaAdmin(settings, (admin) => admin.describeGroups([groupId]));
  return groups.some(({ members }) => members.length > 0) ? 'classic' : 'consumer';
}
