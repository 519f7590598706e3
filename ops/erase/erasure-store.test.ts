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
  await store.counted(id, [[1_700_000_000, 3]], await store.clock());
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

it('Addresses of an erased person are recorded as hashes, each once', async () => {
  const id = await store.request(ACCOUNT, ['sara']);
  const erasure = await store.find(id);
  if (!erasure) throw new Error(`there is no erasure ${id}`);
  await store.hasAddresses(erasure, [{ channel: 'push', address: 'd1' }]);
  await store.hasAddresses(erasure, [
    { channel: 'push', address: 'd1' },
    { channel: 'web', address: 'd1' },
  ]);
  await store.hasAddresses(erasure, []);
  const found = await store.find(id);
  expect(found?.addressHashes.map(({ length }) => length)).toEqual([32, 32]);
});

it('An erasure that is newer over from the log has one audit line', async () => {
  const command = {
    ...{ id: 40, account_id: ACCOUNT, key_id: 1, names: [Buffer.alloc(32, 1)] },
    ...{ requested_at: Date.now(), cuts: [] },
  };
  expect(await store.restore(command)).toBe(40);
  expect(await store.restore(command)).toBeUndefined();
  expect(await auditLines('erasure.restored')).toEqual([[ACCOUNT, { erasure: 40 }]]);
});

it('An erasure whose number was given to another person keeps its own row', async () => {
  const store = new ErasureStore(postgres.database);
  const newer = await store.request(ACCOUNT, ['omid']);
  const command = {
    ...{ id: newer, account_id: ACCOUNT, key_id: 1, names: [Buffer.alloc(32, 2)] },
    ...{ requested_at: Date.now(), cuts: [{ partition: 0, epoch: 0, offset: 5 }] },
  };
  const restored = await store.restore(command);
  expect(restored).toBeGreaterThan(newer);
  expect(await store.restore(command)).toBeUndefined();
  expect(await store.find(Number(restored))).toMatchObject({
    cuts: command.cuts,
    state: 'removed',
  });
  expect(await store.request(ACCOUNT, ['reza'])).toBeGreaterThan(Number(restored));
});

it('An erasure is not restored with another key than that of its names', async () => {
  const command = {
    ...{ id: 70, account_id: ACCOUNT, names: [Buffer.alloc(32, 3)], cuts: [] },
    ...{ key_id: 9, requested_at: Date.now() },
  };
  expect(await store.restore(command)).toBe('keyless');
  // The key has the number, but it was made after the erasure.
  expect(await store.restore({ ...command, key_id: 1, requested_at: 1_700_000_000_000 })).toBe(
    'keyless',
  );
  expect(await store.find(70)).toBeUndefined();
});

it('A rotated key stays while an erasure needs it, and is destroyed when it is verified', async () => {
  const id = await store.request(ACCOUNT, ['mina']);
  const key = (await store.find(id))?.keyId ?? 0;
  const isKept = async () => {
    const { rows } = await postgres.database.query<{ kept: boolean }>(
      'SELECT key IS NOT NULL AS kept FROM erasure_keys WHERE id = $1',
      [key],
    );
    return rows[0]?.kept;
  };
  await store.rotateKey(Buffer.alloc(32, 7));
  expect(await isKept()).toBe(true);
  const later = await store.request(ACCOUNT, ['nima']);
  expect((await store.find(later))?.keyId).toBeGreaterThan(key);
  await postgres.database.query(
    "UPDATE erasures SET state = 'rewritten', verified_at = now(), names = NULL WHERE key_id = $1",
    [key],
  );
  expect(await store.rotateKey(Buffer.alloc(32, 8))).toBeGreaterThan(0);
  expect(await isKept()).toBe(false);
});
