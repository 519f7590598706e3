import type { SettingTexts } from '../../messaging/settings/setting-texts.ts';
import { changeSettings, readSettingTexts } from '../../messaging/settings/settings-store.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { ACCOUNT_FIELDS, parseAccountChanges, type AccountValue } from './account-fields.ts';
import { REQUIRED, OPTIONAL } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { auditedChange } from './audited-change.ts';
import {
  adminCommand,
  idOption,
  requireAccount,
  textOption,
  type AdminContext,
} from './command.ts';
import { expiredEvents } from './expired-events.ts';
import { isMessageSetting, parseMessageSettings, shownSettings } from './message-settings.ts';

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

/**
 * `./ravand admin account set`: fields of the account, and settings of its messages.
 * --dry-run also counts the events that a retention would delete.
 */
export const accountSet = adminCommand({
  name: 'account set',
  usage: 'account set --account ID KEY=VALUE… [--dry-run]',
  options: { account: REQUIRED, 'dry-run': { type: 'boolean' } },
  words: { min: 0, max: Number.POSITIVE_INFINITY },
  async run(line, { database, env }) {
    const id = idOption(line.values, 'account');
    const { messages = [], account = [] } = Object.groupBy(line.words, (word) =>
      isMessageSetting(word) ? 'messages' : 'account',
    );
    const settings = parseMessageSettings(messages);
    // Without any word it says which there are.
    const changes =
      account.length > 0 || messages.length === 0
        ? parseAccountChanges(account)
        : new Map<string, AccountValue>();
    if (line.values['dry-run'] === true)
      return await previewOf({ database, env }, { id, changes, settings });
    const row = changes.size > 0 ? await setAccount(database, { id, changes }) : undefined;
    if (messages.length === 0) return row ?? {};
    await requireAccount(database, id);
    const texts = await changeSettings(database, { accountId: id, actor: 'operator' }, settings);
    return { ...(row ?? { account_id: id }), messages: shownSettings(texts) };
  },
});

interface AccountChange {
  id: number;
  changes: ReadonlyMap<string, AccountValue>;
}

/** Retries get their time again, as when a paused run is resumed: nothing was sent meanwhile. */
const MOVE_DEADLINES = `resumed AS (
  UPDATE campaign_runs r SET deadline_at = clock_timestamp() + interval '24 hours' FROM accounts a
  WHERE a.id = $1 AND a.status <> 'active' AND r.account_id = a.id AND r.state IN ('planning', 'sending')
    AND NOT r.paused AND NOT r.cancelled AND r.deadline_at IS NOT NULL
)`;

async function setAccount(
  database: Pick<Database, 'query'>,
  { id, changes }: AccountChange,
): Promise<Record<string, unknown>> {
  const sets = [...changes.keys()].map((column, at) => `${column} = $${at + 2}`);
  const before = [...changes.keys()].map((column) => `'${column}', old.${column}`).join(', ');
  const [row] = await auditedChange<Record<string, unknown>>(database, {
    steps: changes.get('status') === 'active' ? [MOVE_DEADLINES] : [],
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
}

/** What --dry-run prints. */
async function previewOf(
  { database, env }: Pick<AdminContext, 'database' | 'env'>,
  { id, changes, settings }: AccountChange & { settings: SettingTexts },
): Promise<Record<string, unknown>> {
  const before = await readAccount(database, id);
  const texts = shownSettings(await readSettingTexts(database, id));
  const days = changes.get('retention_days');
  const changed = (values: Record<string, unknown>, [name, to]: [string, unknown]) => [
    ...[name, { from: values[name] ?? null, to: to === '' ? null : to }],
  ];
  return {
    ...{ account_id: id, dry_run: true },
    changes: Object.fromEntries([
      ...[...changes].map((change) => changed(before, change)),
      ...Object.entries(settings).map((change) => changed(texts, change)),
    ]) as Record<string, unknown>,
    ...(typeof days === 'number' ? await expiredEvents({ env, accountId: id, days }) : {}),
  };
}

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
