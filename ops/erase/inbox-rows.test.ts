import { afterAll, beforeAll, expect, it } from 'vitest';
import { visitorHash, visitorText } from '../../events/channels/onsite/visitor.ts';
import { addInboxEntries } from '../../platform/inbox/inbox-entries.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { removeInbox, removeShownCampaigns } from './inbox-rows.ts';

const PERSON = { accountId: 1, names: ['u', 'a\0b'] };

let postgres: MigratedDatabase;
beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0051', '0052']);
}, 60_000);
afterAll(() => postgres.close());

const rows = async (sql: string) => (await postgres.database.query<object>(sql)).rows;

it('The inbox of a person is erased under all names, and that of nobody else', async () => {
  const owners = [
    ...[
      { accountId: 1, userId: 'u' },
      { accountId: 1, userId: 'a\0b' },
    ],
    ...[
      { accountId: 1, userId: 'u2' },
      { accountId: 2, userId: 'u' },
    ],
  ];
  await addInboxEntries(
    postgres.database,
    owners.map((owner) => ({ ...owner, id: 'm', title: '', body: '', createdAt: 0 })),
  );
  expect(await removeInbox(postgres.database, PERSON)).toBe(2);
  expect(await rows('SELECT account_id::int, user_id FROM inbox_entries ORDER BY 1')).toEqual([
    { account_id: 1, user_id: 'u2' },
    { account_id: 2, user_id: 'u' },
  ]);
});

it('What a person has seen is erased, and counted', async () => {
  for (const name of ['u', 'a\0b', 'u2'])
    await postgres.database.query(
      `INSERT INTO onsite_shown VALUES (1, decode($1, 'hex'), 5, now())`,
      [visitorText(visitorHash(1, name))],
    );
  await rows('INSERT INTO onsite_shown_counts VALUES (1, 3)');
  expect(await removeShownCampaigns(postgres.database, PERSON)).toBe(2);
  expect(await rows('SELECT rows::int FROM onsite_shown_counts')).toEqual([{ rows: 1 }]);
});
