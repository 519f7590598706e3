import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  addInboxEntries,
  markInboxRead,
  type InboxEntry,
} from '../../platform/inbox/inbox-entries.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { connectInboxStore, type InboxStore } from './inbox-store.ts';

const USER = { accountId: 1, userId: 'u\\1' };
const NEWEST = { limit: 100, before: undefined };

let postgres: MigratedDatabase;
let store: InboxStore;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0051']);
  store = connectInboxStore(postgres.database);
}, 60_000);
beforeEach(async () => {
  await postgres.database.query('TRUNCATE inbox_entries');
});
afterAll(() => postgres.close());

const entry = (at: number, change: Partial<InboxEntry> = {}): InboxEntry => ({
  ...{ ...USER, id: `m${String(at).padStart(4, '0')}`, title: 'عنوان', body: 'متن' },
  ...{ createdAt: 1000 + at, ...change },
});
const add = (...entries: InboxEntry[]) => addInboxEntries(postgres.database, entries);
const read = (ids: string[], at = 5000) => markInboxRead(postgres.database, [{ ...USER, ids, at }]);
const listed = async (page: { limit: number; before: string | undefined } = NEWEST) =>
  (await store.list(USER, page)).messages.map(({ id }) => id);

describe('the entries of a user', () => {
  it('are listed newest first, with everything that they have', async () => {
    const full = { url: 'https://x.ir/', data: { order: 7, nested: { a: [1] } } };
    await add(entry(1), entry(3, full), entry(2));
    const { messages, unread } = await store.list(USER, NEWEST);
    expect(messages.map(({ id }) => id)).toEqual(['m0003', 'm0002', 'm0001']);
    const common = { title: 'عنوان', body: 'متن', read: false };
    expect(messages[0]).toEqual({
      ...{ id: 'm0003', ...common, ...full, created_at: new Date(1003).toISOString() },
    });
    expect(messages[2]).toEqual({
      ...{ id: 'm0001', ...common, created_at: new Date(1001).toISOString() },
    });
    expect(unread).toBe(3);
  });

  it('are listed page by page, also those of one instant', async () => {
    await add(...Array.from({ length: 5 }, (_, at) => entry(at, { createdAt: 1000 })));
    expect(await listed({ limit: 2, before: undefined })).toEqual(['m0004', 'm0003']);
    expect(await listed({ limit: 2, before: 'm0003' })).toEqual(['m0002', 'm0001']);
    expect(await listed({ limit: 2, before: 'm0000' })).toEqual([]);
    expect(await listed({ limit: 2, before: 'unknown\0' })).toEqual([]);
    expect(await store.list(USER, { limit: 0, before: undefined })).toEqual({
      ...{ messages: [], unread: 5 },
    });
  });

  it('belong to the user and the account alone', async () => {
    await add(entry(1), entry(2, { userId: 'u2' }), entry(3, { accountId: 2 }));
    expect(await listed()).toEqual(['m0001']);
    await read(['m0002', 'm0003']);
    expect((await store.list({ ...USER, userId: 'u2' }, NEWEST)).unread).toBe(1);
    expect(await store.list({ ...USER, userId: 'u3' }, NEWEST)).toEqual({
      ...{ messages: [], unread: 0 },
    });
  });

  it('are kept for user ids with NUL and backslashes apart', async () => {
    const names = ['a\0b', 'a\\0b', 'a\\\\0b'];
    for (const [at, userId] of names.entries()) await add(entry(at, { userId }));
    for (const [at, userId] of names.entries())
      expect((await store.list({ accountId: 1, userId }, NEWEST)).messages).toMatchObject([
        { id: entry(at).id },
      ]);
  });

  it('are stored once', async () => {
    await add(entry(1));
    await read(['m0001']);
    await add(entry(1, { title: 'again' }), entry(2));
    expect((await store.list(USER, NEWEST)).messages).toMatchObject([
      { id: 'm0002', read: false },
      { id: 'm0001', read: true, title: 'عنوان' },
    ]);
  });

  it('are the newest 1,000, also in what counts as unread', async () => {
    const other = entry(0, { userId: 'u2' });
    await add(other, ...Array.from({ length: 1003 }, (_, at) => entry(at)));
    expect((await store.list(USER, NEWEST)).unread).toBe(1000);
    await add(entry(2000), entry(2001));
    const { rows } = await postgres.database.query(
      'SELECT min(id) AS first, count(*)::int AS count FROM inbox_entries GROUP BY user_id ORDER BY 2',
    );
    expect(rows).toEqual([
      { first: 'm0000', count: 1 },
      { first: 'm0005', count: 1000 },
    ]);
  });
});

describe('a read', () => {
  it('is applied once, and the first one counts in whatever order they come', async () => {
    await add(entry(1), entry(2));
    await read(['m0001', 'm0001', 'm0002'], 7000);
    await read(['m0001', 'unknown'], 6000);
    await read(['m0001'], 8000);
    const { rows } = await postgres.database.query<{ read_at: Date }>(
      'SELECT read_at FROM inbox_entries ORDER BY id',
    );
    expect(rows.map((row) => row.read_at.getTime())).toEqual([6000, 7000]);
  });

  it('of several users is one statement', async () => {
    await add(entry(1), entry(1, { userId: 'u2' }));
    const reads = ['u\\1', 'u2'].map((userId) => ({ ...USER, userId, ids: ['m0001'], at: 1 }));
    await markInboxRead(postgres.database, reads);
    expect((await store.list(USER, NEWEST)).unread).toBe(0);
    await markInboxRead(postgres.database, []);
  });

  it('finds what is unread, of all entries or of some', async () => {
    await add(entry(1), entry(2), entry(3));
    await read(['m0002']);
    expect(new Set(await store.unread(USER, 'all'))).toEqual(new Set(['m0001', 'm0003']));
    expect(await store.unread(USER, ['m0002', 'm0003', 'x\0', '\ud800'])).toEqual(['m0003']);
    expect(await store.unread(USER, [])).toEqual([]);
  });
});

it('the live secrets of an app are its two newest', async () => {
  const { database } = postgres;
  await database.query(`INSERT INTO accounts (id, name) VALUES (1, 'a'), (2, 'b');`);
  await database.query(`INSERT INTO apps (id, account_id, name) VALUES (7, 1, 'x'), (8, 1, 'y')`);
  await database.query(
    `INSERT INTO app_inbox_secrets (account_id, app_id, secret, retired_at) VALUES
     (1, 7, '\\x01', NULL), (1, 7, '\\x02', NULL), (1, 7, '\\x03', NULL), (1, 7, '\\x04', now()), (2, 8, '\\x05', NULL)`,
  );
  expect(await store.secrets([7, 8, 9])).toEqual(
    new Map([[7, { accountId: 1, sealed: [Buffer.of(3), Buffer.of(2)] }]]),
  );
});
