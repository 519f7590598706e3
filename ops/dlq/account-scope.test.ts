import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { DeadLetterStore } from './dead-letter-store.ts';

let postgres: MigratedDatabase;
const MIGRATIONS = ['0001', '0019', '0028', '0037', '0046'];

beforeAll(async () => {
  postgres = await migratedDatabase(MIGRATIONS);
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  await postgres.database.query('TRUNCATE dead_letters', []);
  for (const [at, accountId] of [7, 7, 8].entries())
    await postgres.database.query(
      // eslint-disable-next-line local/banned-words -- the name of the column
      `INSERT INTO dead_letters (letter, dead_partition, dead_offset, stage, reason, fingerprint, topic, partition, record_offset, events, account_id, message_id, failed_at)
       VALUES ($1, 0, $2, 'normalise', 'broken', 'group', 'events.raw', 0, $2, 1, $3, '', now())`,
      [`events.raw/0/${at}`, at, accountId],
    );
});

const storeOf = (accountId?: number) =>
  new DeadLetterStore(postgres.database as Database, accountId);

it('with an account, only its dead letters of a group are counted, discarded and restored', async () => {
  const own = storeOf(7);
  expect(await own.deadEvents('group')).toBe(2);
  expect(await own.ofGroup('group', { state: 'dead', limit: 10 })).toHaveLength(2);
  expect(await own.discard('group', 'a test')).toEqual({ deadLetters: 2, events: 2 });
  expect(await storeOf(8).lastDiscard('group')).toBeUndefined();
  expect(await storeOf().deadEvents('group')).toBe(1);
  expect(await own.restore('group')).toEqual({ deadLetters: 2, events: 2 });
  expect(await storeOf(9).counts()).toEqual([]);
});
