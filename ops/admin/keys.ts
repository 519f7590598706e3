import type { Database } from '../../platform/postgres/pool.ts';
import { KEY_ROLES, type KeyRole } from '../../control-plane/keys/key-roles.ts';
import {
  makeKey,
  MANAGEMENT_KEY_PREFIX,
  WRITE_KEY_PREFIX,
} from '../../control-plane/keys/make-key.ts';
import { auditedChange } from './audited-change.ts';
import { REQUIRED, OPTIONAL } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import {
  adminCommand,
  idOption,
  requireAccount,
  textOption,
  type AdminCommand,
} from './command.ts';

const DAY = 86_400_000;
const DEFAULT_EXPIRY_DAYS = 365;

/** Stores a write key of an app, which is made when the account has none of that name. */
export async function createWriteKey(
  database: Database,
  input: { account: number; app: string; environment: string; hash: Buffer },
): Promise<{ appId: number; keyId: number }> {
  await requireAccount(database, input.account);
  const app = await database.query<{ id: string }>(
    'INSERT INTO apps (account_id, name) VALUES ($1, $2) ON CONFLICT (account_id, name) DO UPDATE SET name = excluded.name RETURNING id',
    [input.account, input.app],
  );
  const appId = Number(app.rows[0]?.id);
  const [row] = await auditedChange<{ id: string }>(database, {
    statement: `INSERT INTO write_keys (account_id, app_id, environment, key_hash) VALUES ($1, $2, $3, $4)
      RETURNING account_id, id, jsonb_build_object('write_key_id', id) AS audit`,
    values: [input.account, appId, input.environment, input.hash],
    action: 'write_key.created',
    details: { app_id: appId, environment: input.environment },
  });
  return { appId, keyId: Number(row?.id) };
}

/** Stores a management key. */
export async function createManagementKey(
  database: Database,
  input: { account: number; role: KeyRole; expiresAt: Date; hash: Buffer },
): Promise<number> {
  await requireAccount(database, input.account);
  const { account, role, expiresAt, hash } = input;
  const [row] = await auditedChange<{ id: string }>(database, {
    statement: `INSERT INTO management_keys (account_id, role, key_hash, expires_at) VALUES ($1, $2, $3, $4)
      RETURNING account_id, id, jsonb_build_object('management_key_id', id) AS audit`,
    values: [account, role, hash, expiresAt],
    action: 'management_key.created',
    details: { role, expires_at: expiresAt.toISOString() },
  });
  return Number(row?.id);
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
      const [row] = await auditedChange<{ revoked_at: Date }>(database, {
        statement: `UPDATE ${table} SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1
          RETURNING account_id, revoked_at, jsonb_build_object('${record}_id', id) AS audit`,
        ...{ values: [id], action: `${record}.revoked`, details: {} },
      });
      if (!row) throw new CommandError(`there is no ${group} with the id ${id}`);
      return { id, revoked_at: row.revoked_at };
    },
  });
}

export const writeKeyRevoke = revoke('write-key', 'write_keys');
export const managementKeyRevoke = revoke('management-key', 'management_keys');
