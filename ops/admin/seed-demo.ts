import type { Database } from '../../platform/postgres/pool.ts';
import {
  hashKey,
  makeKey,
  MANAGEMENT_KEY_PREFIX,
  WRITE_KEY_PREFIX,
} from '../../control-plane/keys/make-key.ts';
import type { Sealer } from '../../platform/sealing.ts';
import { createAccount } from './accounts.ts';
import { KEY_ROLES, type KeyRole } from '../../control-plane/keys/key-roles.ts';
import { createManagementKey, createWriteKey } from './keys.ts';
import type { DemoKeys } from '../../cli/stack/ready.ts';
import { seedMember } from './member-seed.ts';
import { seedRelay } from './relay-seed.ts';
import { seedSenders, type SandboxAddresses } from './sender-seed.ts';
import { seedTemplate } from './template-seed.ts';
import { seedWebhooks } from './webhook-seed.ts';

/** Retention of the demo account, days: the TTL of the events table (ingest 2.4). */
export const DEMO_RETENTION_DAYS = 400;
const TEN_YEARS = 10 * 365 * 86_400_000;

/**
 * Returns the demo account and its keys. The database holds only hashes, so the caller keeps the
 * keys (`kept`); when the database does not know them, a new account is created.
 */
export async function seedDemo(input: {
  database: Database;
  /** Undefined: connections are not enabled, and the demo account has none. */
  sealer: Sealer | undefined;
  kept: DemoKeys | undefined;
  sandbox: SandboxAddresses;
  now: number;
}): Promise<DemoKeys> {
  const { database, sealer, kept, sandbox } = input;
  const known = kept && (await isKnown(database, kept)) ? kept : undefined;
  const keys = known ?? (await makeKeys(input));
  const { account_id: accountId, app_id: appId } = keys;
  const webhooks = sealer
    ? await seedWebhooks({ database, sealer, accountId, appId, kept: keys.webhooks })
    : {};
  await seedSenders({ database, sealer, accountId, sandbox });
  const template_id = await seedTemplate(database, { accountId, kept: known?.template_id });
  const member = await seedMember({ database, accountId, kept: kept?.member });
  return { ...keys, webhooks, template_id, member };
}

async function makeKeys({
  database,
  now,
}: {
  database: Database;
  now: number;
}): Promise<Omit<DemoKeys, 'member' | 'template_id'>> {
  const accountId = await createAccount(database, 'demo', [
    `retention_days=${DEMO_RETENTION_DAYS}`,
  ]);
  const write = makeKey(WRITE_KEY_PREFIX);
  const { appId } = await createWriteKey(database, {
    account: accountId,
    app: 'demo shop',
    environment: 'production',
    hash: write.hash,
  });
  const keys: [KeyRole, string][] = [];
  for (const role of KEY_ROLES) {
    const made = makeKey(MANAGEMENT_KEY_PREFIX);
    await createManagementKey(database, {
      account: accountId,
      role,
      hash: made.hash,
      expiresAt: new Date(now + TEN_YEARS),
    });
    keys.push([role, made.key]);
  }
  await seedRelay(database, accountId);
  return {
    account_id: accountId,
    app_id: appId,
    write_key: write.key,
    management_keys: Object.fromEntries(keys) as Record<KeyRole, string>,
    webhooks: {},
  };
}

async function isKnown(database: Database, kept: DemoKeys): Promise<boolean> {
  const hashes = Object.values(kept.management_keys).map(hashKey);
  const answer = await database.query<{ n: number }>(
    `SELECT (SELECT count(*) FROM write_keys WHERE account_id = $1 AND key_hash = $2 AND revoked_at IS NULL)::int
          + (SELECT count(*) FROM management_keys WHERE account_id = $1 AND key_hash = ANY($3) AND revoked_at IS NULL)::int AS n`,
    [kept.account_id, hashKey(kept.write_key), hashes],
  );
  return answer.rows[0]?.n === 1 + KEY_ROLES.length;
}
