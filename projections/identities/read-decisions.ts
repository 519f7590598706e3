import type { Admin } from 'kafkajs';
import { committedOffsets, topicEnds } from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { decodeIfReadable, identityCommandCodec } from '../../schemas/codec.ts';
import { GROUP, TOPIC } from '../../schemas/topology.ts';
import { decisionOf, type Decision } from './decisions.ts';

/**
 * What operators decided about aliases, by account, from identity.commands up to the commits of
 * identities-sink. Rejects when the log does not reach back to the first command.
 */
export async function readDecisions(options: {
  settings: KafkaSettings;
  admin: Admin;
  signal: AbortSignal;
}): Promise<Map<number, Decision[]>> {
  const { settings, admin, signal } = options;
  const topic = TOPIC.identityCommands;
  const committed = await committedOffsets(admin, GROUP.identityCommands, topic);
  const decisions = new Map<number, Decision[]>();
  for (const { partition, low } of await topicEnds(admin, topic)) {
    if (low > 0)
      throw new Error(
        `${topic} begins at offset ${low}: earlier decisions are lost, so no rebuild`,
      );
    const range = { topic, partition, from: low, to: committed.get(partition) ?? low };
    for await (const messages of readRange({
      ...{ settings, clientId: 'ravand-rebuild', range, signal },
    }))
      for (const { value, offset } of messages) {
        const command = decodeIfReadable(identityCommandCodec, value);
        if (!command) continue;
        const own = decisions.get(command.account_id);
        const decision = decisionOf(command, offset);
        if (own) own.push(decision);
        else decisions.set(command.account_id, [decision]);
      }
  }
  return decisions;
}
