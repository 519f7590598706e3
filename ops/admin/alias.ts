import { recordAudit } from '../../platform/audit.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import { postgresIdentities } from '../../projections/identities/postgres-store.ts';
import { REQUIRED } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { asWriter } from '../log/command-writer.ts';
import { effectOf } from '../person/effect.ts';
import { publishIdentityCommand } from '../person/publish-command.ts';
import { adminCommand, idOption } from './command.ts';
import { TOPIC } from '../../schemas/topology.ts';

/**
 * `./ravand admin alias undo`: revokes a merge with a record in the log. The aliases of this
 * previous_id received so far have no effect any more; a later one counts again, unless
 * `./ravand person split` keeps the two ids apart. Events and profiles do not change: people are
 * merged when they are read.
 */
export const aliasUndo = adminCommand({
  name: 'alias undo',
  usage: 'alias undo --account ID --previous-id X [--dry-run]',
  options: { account: REQUIRED, 'previous-id': REQUIRED, 'dry-run': { type: 'boolean' } },
  async run(line, { database, kafka }) {
    const accountId = idOption(line.values, 'account');
    const previousId = line.values['previous-id'];
    const joined = await joinOf(database, accountId, previousId);
    const now = Date.now();
    // A gateway whose clock is ahead may have received the alias after our now.
    const until = Math.max(now, joined.receivedAt);
    const answer = {
      account_id: accountId,
      previous_id: previousId,
      was_joined_to: joined.userId,
      until: new Date(until).toISOString(),
      topic: TOPIC.identityCommands,
    };
    const moved = await effectOf(postgresIdentities(database), accountId, {
      ...{ kind: 'undo', previousId, until, decidedAt: now },
    });
    const effect = {
      moved: moved.map(({ distinctId, from, to }) => ({ distinct_id: distinctId, from, to })),
      reverse: `./ravand person rejoin ${previousId} --from ${joined.userId} --account ${accountId}`,
    };
    if (line.values['dry-run'] === true)
      return { ...answer, offset: null, dry_run: true, ...effect };
    const offset = await asWriter({ database, command: 'admin alias undo' }, async () => {
      await recordAudit(database, {
        ...{ accountId, actor: 'operator', action: 'alias.undone' },
        details: {
          ...{ topic: TOPIC.identityCommands, requested_at: now },
          distinct_ids_moved: moved.length,
        },
      });
      return publishIdentityCommand(kafka, {
        ...{ account_id: accountId, command: 'undo', previous_id: previousId, until },
        ...{ requested_at: now, user_id: '' },
      });
    });
    return { ...answer, offset, ...effect };
  },
});

async function joinOf(
  database: Database,
  accountId: number,
  previousId: string,
): Promise<{ userId: string; receivedAt: number }> {
  const answer = await database.query<{ joined_to: string | null; received_at: string | null }>(
    'SELECT joined_to, received_at FROM identity_names WHERE account_id = $1 AND name = $2',
    [accountId, escapeText(previousId)],
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
  return { userId: unescapeText(row.joined_to), receivedAt: Number(row.received_at) };
}
