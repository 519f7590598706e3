import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { readMeters } from './show.ts';

let postgres: MigratedDatabase;
beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0003', '0060']);
}, 60_000);
afterAll(() => postgres.close());

it('the meters of a month are events, people, and sent messages by channel, messengers together', async () => {
  await postgres.database.query(
    `INSERT INTO meters (account_id, meter, month, value) VALUES (1, 'events', '1405-09', 12), (1, 'profiles', '1405-09', 4), (1, 'events', '1405-08', 99), (2, 'events', '1405-09', 99)`,
  );
  await postgres.database.query(
    `INSERT INTO message_meters (account_id, month, channel, messages) VALUES (1, '1405-09', 'email', 5), (1, '1405-09', 'bale', 1), (1, '1405-09', 'rubika', 2), (1, '1405-08', 'email', 99), (2, '1405-09', 'sms', 99)`,
  );
  const none = { email: 0, sms: 0, push: 0, web: 0, inapp: 0, messenger: 0 };
  const read = (accountId: number) =>
    readMeters(postgres.database, { accountId, month: '1405-09' });
  expect(await read(1)).toEqual({
    ...{ events: 12, profiles: 4 },
    messages: { ...none, email: 5, messenger: 3 },
  });
  expect(await read(3)).toEqual({ events: 0, profiles: 0, messages: none });
});
