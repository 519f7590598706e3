import type { PGlite } from '@electric-sql/pglite';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../platform/postgres/pool.ts';
import { emptyEngine } from '../../platform/postgres/testing/empty-engine.ts';
import { connectRecipientStore } from './recipient-store.ts';
import type { RecipientOf } from './recipients.ts';

const MIGRATIONS = join(import.meta.dirname, '../../deploy/migrations/postgres');
const REF = Buffer.alloc(12, 1);

let engine: PGlite;
let recipientOf: RecipientOf;

beforeAll(async () => {
  engine = await emptyEngine();
  const migrations = ['0001_accounts', '0004_identities', '0050_channels', '0053_tracking'];
  for (const name of [...migrations, '0056_person_channels'])
    await engine.exec(readFileSync(join(MIGRATIONS, `${name}.sql`), 'utf8'));
  recipientOf = connectRecipientStore({
    query: engine.query.bind(engine) as unknown as Database['query'],
  });
  await engine.exec(`
    INSERT INTO accounts (name) VALUES ('فروشگاه'), ('other');
    INSERT INTO identity_names (account_id, name, canonical, revision) VALUES (1, 'u\\\\', 'u\\\\', 1), (1, 'anon', 'u\\\\', 1);
    INSERT INTO channel_addresses (account_id, channel, address_id, app_id, user_id, anonymous_id, received_at, gateway, sequence) VALUES
      (1, 'bale', '77', 0, 'anon', '', 1, 'g', 1), (1, 'eitaa', '78', 0, 'anon', '', 1, 'g', 1);
    INSERT INTO channel_ends (account_id, channel, user_id, address_id, reason, received_at, gateway, sequence) VALUES
      (1, 'eitaa', 'anon', '', 'unlinked', 5, 'g', 5);
    INSERT INTO channel_consents (account_id, user_id, channel, state, received_at, gateway, sequence) VALUES
      (1, 'anon', 'sms', 'unsubscribed', 7, 'g', 7);
  `);
  const sql = `INSERT INTO message_recipients (account_id, ref, user_id, channel, campaign_id, message_id, address)
    VALUES (1, $1, $2, 'email', 5, 'c5.1.abc', 'sara@example.ir')`;
  await engine.query(sql, [REF, 'u\\\\']);
}, 30_000);
afterAll(() => engine.close());

it('a recipient is found with the account, and the consents under all names of the person', async () => {
  const found = await recipientOf({ accountId: 1, ref: REF });
  expect(found).toEqual({
    ...{ userId: 'u\\', channel: 'email', address: 'sara@example.ir', campaignId: 5 },
    ...{ messageId: 'c5.1.abc', accountName: 'فروشگاه' },
    consents: new Map([
      ['email', 'subscribed'],
      ['sms', 'unsubscribed'],
      ['bale', 'subscribed'],
    ]),
  });
  expect([...(found?.consents.keys() ?? [])]).toEqual(['email', 'sms', 'bale']);
});

it('a ref of another account, or of no message, is nobody', async () => {
  expect(await recipientOf({ accountId: 2, ref: REF })).toBeUndefined();
  expect(await recipientOf({ accountId: 1, ref: Buffer.alloc(12, 2) })).toBeUndefined();
});
