import { recordAudit } from '../../platform/audit.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { makeKey, MANAGEMENT_KEY_PREFIX, WRITE_KEY_PREFIX } from '../../control-plane/keys.ts';
import { REQUIRED, OPTIONAL } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import {
  adminCommand,
  idOption,
  requireAccount,
  textOption,
  type AdminCommand,
} from './command.ts';

/** Roles that a key can have: owner is refused (management 5). */
export const KEY_ROLES = ['admin', 'marketer', 'analyst', 'viewer', 'approver', 'finance'] as const;
export type KeyRole = (typeof KEY_ROLES)[number];

const OPERATOR = 'operator';
const DAY = 86_400_000;
const DEFAULT_EXPIRY_DAYS = 365;

/** Stores a write key of an app, which is made when the account has none of that name. */
export async function createWriteKey(
  database: Database,
  input: { account: number; app: string; environment: string; hash: Buffer },
): Promise<{ appId: number; keyId: number }> {
  await requireAccount(database, input.account);
  const answer = await database.query<{ app_id: string; id: string }>(
    `WITH app AS (
       INSERT INTO apps (account_id, name) VALUES ($1, $2) ON CONFLICT (account_id, name) DO UPDATE SET name = excluded.name RETURNING id
     )
     INSERT INTO write_keys (account_id, app_id, environment, key_hash) SELECT $1, app.id, $3, $4 FROM app RETURNING app_id, id`,
    [input.account, input.app, input.environment, input.hash],
  );
  return { appId: Number(answer.rows[0]?.app_id), keyId: Number(answer.rows[0]?.id) };
}

/** Stores a management key. */
export async function createManagementKey(
  database: Database,
  input: { account: number; role: KeyRole; expiresAt: Date; hash: Buffer },
): Promise<number> {
  await requireAccount(database, input.account);
  const answer = await database.query<{ id: string }>(
    'INSERT INTO management_keys (account_id, role, key_hash, expires_at) VALUES ($1, $2, $3, $4) RETURNING id',
    [input.account, input.role, input.hash, input.expiresAt],
  );
  return Number(answer.rows[0]?.id);
}

export const writeKeyCreate = adminCommand({
  name: 'write-key create',
  usage: 'write-key create --account ID --app NAME --environment NAME',
  options: { account: REQUIRED, app: REQUIRED, environment: REQUIRED },
  async run(line, { database }) {
    const { key, hash } = makeKey(WRITE_KEY_PREFIX);
    const account = idOption(line.values, 'account');
    const environment = textOption(line.values, 'environment');
    const app = textOption(line.values, 'app');
    const made = await createWriteKey(database, { account, app, environment, hash });
    await recordAudit(database, {
      accountId: account,
      actor: OPERATOR,
      action: 'write_key.created',
      details: { write_key_id: made.keyId, app_id: made.appId, environment },
    });
    return { app_id: made.appId, write_key_id: made.keyId, write_key: key };
  },
});

export const managementKeyCreate = adminCommand({
  name: 'management-key create',
  usage: 'management-key create --account ID --role ROLE [--expires-in-days N]',
  options: { account: REQUIRED, role: REQUIRED, 'expires-in-days': OPTIONAL },
  async run(line, { database }) {
    const role = KEY_ROLES.find((name) => name === line.values.role);
    if (!role)
      throw new CommandError(
        `--role ${line.values.role}: expected one of ${KEY_ROLES.join(', ')}; a key cannot be owner`,
      );
    const days = Number(line.values['expires-in-days'] ?? DEFAULT_EXPIRY_DAYS);
    if (!Number.isFinite(days) || Math.abs(days) > 36_500)
      throw new CommandError(
        '--expires-in-days: expected a number of days; negative or a fraction is allowed',
      );
    const { key, hash } = makeKey(MANAGEMENT_KEY_PREFIX);
    const account = idOption(line.values, 'account');
    const expiresAt = new Date(Date.now() + days * DAY);
    const id = await createManagementKey(database, { account, role, hash, expiresAt });
    await recordAudit(database, {
      accountId: account,
      actor: OPERATOR,
      action: 'management_key.created',
      details: { management_key_id: id, role, expires_at: expiresAt.toISOString() },
    });
    return { api_key_id: id, management_key: key };
  },
});

function revoke(group: 'write-key' | 'management-key', table: string): AdminCommand {
  const record = group.replace('-', '_');
  return adminCommand({
    name: `${group} revoke`,
    usage: `${group} revoke --id ID`,
    options: { id: REQUIRED },
    async run(line, { database }) {
      const id = idOption(line.values, 'id');
      const answer = await database.query<{ revoked_at: Date; account_id: string }>(
        `UPDATE ${table} SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 RETURNING revoked_at, account_id`,
        [id],
      );
      const row = answer.rows[0];
      if (!row) throw new CommandError(`there is no ${group} with the id ${id}`);
      await recordAudit(database, {
        accountId: Number(row.account_id),
        actor: OPERATOR,
        action: `${record}.revoked`,
        details: { [`${record}_id`]: id },
      });
      return { id, revoked_at: row.revoked_at };
    },
  });
}

export const writeKeyRevoke = revoke('write-key', 'write_keys');
export const managementKeyRevoke = revoke('management-key', 'management_keys');
