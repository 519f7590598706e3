import type { Database } from '../../platform/postgres/pool.ts';
import { ACCOUNT_FIELDS, parseAccountChanges } from './account-fields.ts';
import { REQUIRED, OPTIONAL } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { auditedChange } from './audited-change.ts';
import { adminCommand, idOption, textOption } from './command.ts';
import { expiredEvents } from './expired-events.ts';

/** Creates an account, with its audit line. */
export async function createAccount(
  database: Pick<Database, 'query'>,
  name: string,
  words: readonly string[],
): Promise<number> {
  const changes = words.length === 0 ? new Map<string, unknown>() : parseAccountChanges(words);
  const columns = ['name', ...changes.keys()];
  const [row] = await auditedChange<{ account_id: string }>(database, {
    statement: `INSERT INTO accounts (${columns.join(', ')}) VALUES (${columns.map((_, at) => `$${at + 1}`).join(', ')})
      RETURNING id AS account_id, '{}'::jsonb AS audit`,
    values: [name, ...changes.values()],
    action: 'account.created',
    details: Object.fromEntries(changes),
  });
  return Number(row?.account_id);
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
    return { account_id: await createAccount(database, textOption(line.values, 'name'), words) };
  },
});

const FIELDS = Object.keys(ACCOUNT_FIELDS);

/** `./ravand admin account set`; --dry-run also counts the events that a retention would delete. */
export const accountSet = adminCommand({
  name: 'account set',
  usage: 'account set --account ID KEY=VALUE… [--dry-run]',
  options: { account: REQUIRED, 'dry-run': { type: 'boolean' } },
  words: { min: 0, max: Number.POSITIVE_INFINITY },
  async run(line, { database, env }) {
    const id = idOption(line.values, 'account');
    const changes = parseAccountChanges(line.words);
    if (line.values['dry-run'] === true) {
      const before = await readAccount(database, id);
      const days = changes.get('retention_days');
      return {
        ...{ account_id: id, dry_run: true },
        changes: Object.fromEntries(
          [...changes].map(([column, to]) => [column, { from: before[column] ?? null, to }]),
        ),
        ...(typeof days === 'number' ? await expiredEvents({ env, accountId: id, days }) : {}),
      };
    }
    const sets = [...changes.keys()].map((column, at) => `${column} = $${at + 2}`);
    const before = [...changes.keys()].map((column) => `'${column}', old.${column}`).join(', ');
    const [row] = await auditedChange<Record<string, unknown>>(database, {
      statement: `UPDATE accounts AS a SET ${sets.join(', ')} FROM accounts AS old WHERE a.id = $1 AND old.id = a.id
        RETURNING a.id::int AS account_id, a.name, a.status, a.subscription, a.retention_days, a.max_events::float8, a.included_events::float8,
          a.included_profiles::float8, a.invoice_due_at, a.payment_declared, a.api_rate_per_minute, a.ip_allow,
          jsonb_build_object('before', jsonb_build_object(${before})) AS audit`,
      values: [id, ...changes.values()],
      action: 'account.changed',
      details: Object.fromEntries(changes),
    });
    if (!row) throw new CommandError(`there is no account ${id}`);
    return row;
  },
});

async function readAccount(
  database: Pick<Database, 'query'>,
  id: number,
): Promise<Record<string, unknown>> {
  const { rows } = await database.query<Record<string, unknown>>(
    `SELECT ${FIELDS.map((name) => (/^(max|included)_/.test(name) ? `${name}::float8` : name)).join(', ')} FROM accounts WHERE id = $1`,
    [id],
  );
  const [row] = rows;
  if (!row) throw new CommandError(`there is no account ${id}`);
  return row;
}
