import { afterAll, beforeAll, expect, it } from 'vitest';
import { inboxSecretPurpose } from '../../events/channels/inbox-credential.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { makeSealingKey, parseSealingKeys, type Sealer } from '../../platform/sealing.ts';
import { appSecret, inboxSecret } from './app-secret.ts';

const APP = { accountId: 1, appId: 7 };
const sealer = parseSealingKeys(makeSealingKey('k')) as Sealer;

let postgres: MigratedDatabase;
const rows = async <Row extends object>(sql: string) =>
  (await postgres.database.query<Row>(sql)).rows;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0012', '0051']);
  await rows(`INSERT INTO accounts (id, name) VALUES (1, 'a')`);
  await rows(`INSERT INTO apps (id, account_id, name) VALUES (7, 1, 'x')`);
}, 60_000);
afterAll(() => postgres.close());

const secret = (rotate = false, app = APP) =>
  inboxSecret(app, { database: postgres.database, sealer, rotate });
const live = async () =>
  (
    await rows<{ secret: Uint8Array }>(
      'SELECT secret FROM app_inbox_secrets WHERE retired_at IS NULL ORDER BY id DESC',
    )
  ).map((row) => sealer.open(Buffer.from(row.secret), inboxSecretPurpose(APP)));

it('An app has a secret, and after a rotation the one before it too, but no third', async () => {
  const first = await secret();
  expect(first).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(await secret()).toBe(first);
  const second = await secret(true);
  expect(await live()).toEqual([second, first]);
  const third = await secret(true);
  expect(await live()).toEqual([third, second]);
  expect(await secret()).toBe(third);
  const lines = await rows('SELECT action, details FROM audit_lines ORDER BY id');
  const details = { app_id: 7 };
  expect(lines).toEqual([
    { action: 'app_secret.created', details },
    { action: 'app_secret.shown', details },
    { action: 'app_secret.rotated', details },
    { action: 'app_secret.rotated', details },
    { action: 'app_secret.shown', details },
  ]);
});

it('An app of another account has none here', async () => {
  await expect(secret(false, { accountId: 2, appId: 7 })).rejects.toThrow(
    'the account 2 has no app 7',
  );
});

it('Without a sealing key nothing is stored', async () => {
  const context = { database: postgres.database as never, kafka: {} as never, env: {} };
  const line = { values: { account: '1', 'app-id': '7' }, words: [] };
  await expect(appSecret.run(line, context)).rejects.toThrow('SEALING_KEY is empty');
});
