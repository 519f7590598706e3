import { createManagementKey, createWriteKey } from '../../ops/admin/keys.ts';
import {
  makeKey,
  MANAGEMENT_KEY_PREFIX,
  WRITE_KEY_PREFIX,
} from '../../control-plane/keys/make-key.ts';
import type { Database } from '../../platform/postgres/pool.ts';

/** An account with its keys; the request budget is per management key (management 8.1). */
export interface Tenant {
  accountId: number;
  writeKey: string;
  managementKeys: readonly string[];
}

const YEAR_MS = 365 * 86_400_000;

/** Creates an account with `keys` management keys of the role admin. */
export async function createTenant(
  database: Database,
  { name, keys }: { name: string; keys: number },
): Promise<Tenant> {
  const { rows } = await database.query<{ id: string }>(
    'INSERT INTO accounts (name, retention_days) VALUES ($1, 400) RETURNING id',
    [name],
  );
  const account = Number(rows[0]?.id);
  const write = makeKey(WRITE_KEY_PREFIX);
  const key = { account, app: 'bench', environment: 'bench', hash: write.hash };
  await createWriteKey(database, key);
  const managementKeys: string[] = [];
  const expiresAt = new Date(Date.now() + YEAR_MS);
  for (let n = 0; n < keys; n++) {
    const made = makeKey(MANAGEMENT_KEY_PREFIX);
    await createManagementKey(database, { account, role: 'admin', expiresAt, hash: made.hash });
    managementKeys.push(made.key);
  }
  return { accountId: account, writeKey: write.key, managementKeys };
}

/** Keys in turn. */
export function inTurn(keys: readonly string[]): () => string {
  let next = 0;
  return () => keys[next++ % keys.length] ?? '';
}
