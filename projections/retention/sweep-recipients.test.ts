import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { sweepRecipients } from './sweep-recipients.ts';

let postgres: MigratedDatabase;
beforeAll(async () => {
  postgres = await migratedDatabase(['0053']);
}, 60_000);
afterAll(() => postgres.close());

it('recipients are kept as long as tokens are valid, 400 days, and removed afterwards', async () => {
  await postgres.database.query(
    `INSERT INTO message_recipients (account_id, ref, user_id, channel, campaign_id, message_id, address, created_at)
     SELECT 1, decode(lpad(to_hex(n), 24, '0'), 'hex'), 'u', 'email', 0, 'm', 'a', now() - make_interval(days => CASE WHEN n = 0 THEN 400 ELSE 402 END)
     FROM generate_series(0, 5001) AS n`,
  );
  const { signal } = new AbortController();
  expect(await sweepRecipients(postgres.database, signal)).toBe(5001);
  expect(await sweepRecipients(postgres.database, signal)).toBe(0);
  const { rows } = await postgres.database.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM message_recipients',
  );
  expect(rows).toEqual([{ n: 1 }]);
});
