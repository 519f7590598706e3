import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { removeCaughtUp } from './announced-opt-outs.ts';

let postgres: MigratedDatabase;
beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0050', '0060']);
}, 30_000);
afterAll(() => postgres.close());

const sql = (text: string) => postgres.database.query(text);

it('an announced opt-out is removed when its command, or a later one, is in the consents', async () => {
  await sql(`INSERT INTO announced_opt_outs (account_id, user_id, channel, received_at, gateway, sequence, created_at) VALUES
    (1, 'same', 'email', 1000, 'g', 3, clock_timestamp()), (1, 'later', 'email', 1000, 'g', 3, clock_timestamp()),
    (1, 'earlier', 'email', 1000, 'g', 3, clock_timestamp() - interval '90 s'), (1, 'other', 'email', 1000, 'g', 3, clock_timestamp()),
    (1, 'none', 'email', 1000, 'g', 3, clock_timestamp())`);
  await sql(`INSERT INTO channel_consents (account_id, user_id, channel, state, received_at, gateway, sequence) VALUES
    (1, 'same', 'email', 'unsubscribed', 1000, 'g', 3), (1, 'later', 'email', 'subscribed', 1000, 'g', 4),
    (1, 'earlier', 'email', 'subscribed', 1000, 'g', 2), (1, 'other', 'sms', 'unsubscribed', 2000, 'g', 9),
    (2, 'none', 'email', 'unsubscribed', 2000, 'g', 9)`);
  const left = await removeCaughtUp(postgres.database);
  expect(left.waiting).toBe(3);
  expect(left.oldest).toBeGreaterThan(89);
  const { rows } = await sql('SELECT user_id FROM announced_opt_outs ORDER BY 1');
  expect(rows).toEqual(['earlier', 'none', 'other'].map((user_id) => ({ user_id })));
});
