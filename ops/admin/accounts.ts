import { recordAudit } from '../../platform/audit.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { parseAccountChanges } from './account-fields.ts';
import { REQUIRED, OPTIONAL } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { adminCommand, idOption, textOption } from './command.ts';

async function create(name: string, words: readonly string[], database: Database): Promise<number> {
  const changes = words.length === 0 ? new Map() : parseAccountChanges(words);
  const columns = ['name', ...changes.keys()];
  const answer = await database.query<{ id: string }>(
    `INSERT INTO accounts (${columns.join(', ')}) VALUES (${columns.map((_, at) => `$${at + 1}`).join(', ')}) RETURNING id`,
    [name, ...changes.values()],
  );
  return Number(answer.rows[0]?.id);
}

/** The audit line of a change: what was set, with the new values. */
async function record(
  database: Database,
  { id, action, words }: { id: number; action: string; words: readonly string[] },
): Promise<void> {
  const details = words.length === 0 ? {} : Object.fromEntries(parseAccountChanges(words));
  await recordAudit(database, { accountId: id, actor: 'operator', action, details });
}

export const accountCreate = adminCommand({
  name: 'account create',
  usage: 'account create --name NAME [--retention-days N] [--max-events N]',
  options: { name: REQUIRED, 'retention-days': OPTIONAL, 'max-events': OPTIONAL },
  async run(line, { database }) {
    const words = (['retention-days', 'max-events'] as const).flatMap((option) => {
      const value = line.values[option];
      return value === undefined ? [] : [`${option.replace('-', '_')}=${value}`];
    });
    const id = await create(textOption(line.values, 'name'), words, database);
    await record(database, { id, action: 'account.created', words });
    return { account_id: id };
  },
});

export const accountSet = adminCommand({
  name: 'account set',
  usage: 'account set --account ID KEY=VALUE…',
  options: { account: REQUIRED },
  words: { min: 0, max: Number.POSITIVE_INFINITY },
  async run(line, { database }) {
    const id = idOption(line.values, 'account');
    const changes = parseAccountChanges(line.words);
    const sets = [...changes.keys()].map((column, at) => `${column} = $${at + 2}`);
    const answer = await database.query<Record<string, unknown>>(
      `UPDATE accounts SET ${sets.join(', ')} WHERE id = $1
       RETURNING id::int AS account_id, name, status, subscription, retention_days, max_events::float8, included_events::float8,
         included_profiles::float8, invoice_due_at, payment_declared, api_rate_per_minute, ip_allow`,
      [id, ...changes.values()],
    );
    const row = answer.rows[0];
    if (!row) throw new CommandError(`there is no account ${id}`);
    await record(database, { id, action: 'account.changed', words: line.words });
    return row;
  },
});
