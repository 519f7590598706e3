import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { connectProducer } from '../../platform/kafka/producer.ts';
import { createLog } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { encodeIdentityCommand } from '../../schemas/identity-command-versions.ts';
import type { IdentityCommand } from '../../schemas/records.ts';
import { REQUIRED } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { adminCommand, idOption } from './command.ts';
import { TOPIC } from '../../schemas/topology.ts';

/**
 * `./ravand admin alias undo`: revokes a merge with a record in the log. The aliases of this
 * previous_id received so far have no effect any more; a later one counts again. Events and
 * profiles do not change: people are merged when they are read.
 */
export const aliasUndo = adminCommand({
  name: 'alias undo',
  usage: 'alias undo --account ID --previous-id X',
  options: { account: REQUIRED, 'previous-id': REQUIRED },
  async run(line, { database, kafka }) {
    const accountId = idOption(line.values, 'account');
    const previousId = line.values['previous-id'];
    const joined = await joinOf(database, accountId, previousId);
    const now = Date.now();
    // A gateway whose clock is ahead may have received the alias after our now.
    const until = Math.max(now, joined.receivedAt);
    const offset = await publish(kafka, {
      account_id: accountId,
      command: 'undo',
      previous_id: previousId,
      until,
      requested_at: now,
      user_id: '',
    });
    return {
      account_id: accountId,
      previous_id: previousId,
      was_joined_to: joined.userId,
      until: new Date(until).toISOString(),
      topic: TOPIC.identityCommands,
      offset,
    };
  },
});

async function joinOf(
  database: Database,
  accountId: number,
  previousId: string,
): Promise<{ userId: string; receivedAt: number }> {
  // A text of PostgreSQL cannot hold NUL: projections/identities writes \0 for it, and doubles
  // backslashes.
  const text = previousId.replaceAll('\\', '\\\\').replaceAll('\0', '\\0');
  const answer = await database.query<{ joined_to: string | null; received_at: string | null }>(
    'SELECT joined_to, received_at FROM identity_names WHERE account_id = $1 AND name = $2',
    [accountId, text],
  );
  const row = answer.rows[0];
  if (!row)
    throw new CommandError(
      `no alias of account ${accountId} mentions this name: check --account and --previous-id`,
    );
  if (row.joined_to === null)
    throw new CommandError(
      'this id is not merged into another: give the previous_id of the alias to undo',
    );
  return {
    userId: row.joined_to.replace(/\\(.)/g, (_, escaped: string) =>
      escaped === '0' ? '\0' : escaped,
    ),
    receivedAt: Number(row.received_at),
  };
}

/** Answers the offset once every in-sync replica has the record. */
async function publish(settings: KafkaSettings, command: IdentityCommand): Promise<number> {
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
