import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  openBooksDatabase,
  type BooksDatabase,
} from '../../pipeline/metering/testing/books-database.ts';
import { ErasureStore } from './erasure-store.ts';

const ACCOUNT = 7;
let postgres: BooksDatabase;
let store: ErasureStore;

beforeAll(async () => {
  postgres = await openBooksDatabase();
  await postgres.migrate('0001', '9999');
  store = new ErasureStore(postgres.database);
}, 60_000);
afterAll(() => postgres.close());

/** Of one kind, oldest first. */
async function auditLines(action: string): Promise<unknown[]> {
  const { rows } = await postgres.database.query<{ account_id: string; details: unknown }>(
    'SELECT account_id, details FROM audit_lines WHERE action = $1 ORDER BY id',
    [action],
  );
  return rows.map(({ account_id, details }) => [Number(account_id), details]);
}

it('A completed removal has one audit line, with what was removed from each store', async () => {
  const { rows } = await postgres.database.query<{ id: string }>(
    `INSERT INTO erasures (account_id, key_id, name_hashes, names, state)
     VALUES ($1, 1, '{}', '{}', 'enforced') RETURNING id`,
    [ACCOUNT],
  );
  const id = Number(rows[0]?.id);
  await store.counted(id, [[1_700_000_000, 3]]);
  await store.removedFrom(id, { exports: 1 });
  await store.removedFrom(id, { dead_letters: 2, events: 3 });
  const erasure = await store.find(id);
  if (!erasure) throw new Error(`there is no erasure ${id}`);
  await store.finishRemoval(erasure);
  await store.finishRemoval(erasure);
  expect(await auditLines('erasure.removed')).toEqual([
    [ACCOUNT, { erasure: id, events: 3, removed: { exports: 1, dead_letters: 2, events: 3 } }],
  ]);
});

it('An erasure that is taken over from the log has one audit line', async () => {
  const command = {
    ...{ id: 40, account_id: ACCOUNT, key_id: 1, names: [Buffer.alloc(32, 1)] },
    ...{ requested_at: 1_700_000_000_000, cuts: [] },
  };
  expect(await store.restore(command)).toBe(true);
  expect(await store.restore(command)).toBe(false);
  expect(await auditLines('erasure.restored')).toEqual([[ACCOUNT, { erasure: 40 }]]);
});
