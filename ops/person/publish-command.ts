import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { connectProducer } from '../../platform/kafka/producer.ts';
import { createLog } from '../../platform/log.ts';
import { encodeIdentityCommand } from '../../schemas/identity-command-versions.ts';
import type { IdentityCommand } from '../../schemas/records.ts';
import { TOPIC } from '../../schemas/topology.ts';

/** Resolves with the offset in identity.commands once every in-sync replica has the record. */
export async function publishIdentityCommand(
  settings: KafkaSettings,
  command: IdentityCommand,
): Promise<number> {
  const producer = await connectProducer({
    settings,
    log: createLog({ part: 'admin', level: 'error' }),
    clientId: 'ravand-admin',
    timeout: 10_000,
    linger: 0,
    pollInterval: 10,
    maxQueued: { records: 10, bytes: 1024 * 1024 },
  });
  try {
    return await producer.publish({
      topic: TOPIC.identityCommands,
      partition: 0,
      key: String(command.account_id),
      value: encodeIdentityCommand(command),
    });
  } finally {
    await producer.close(2000);
  }
}
