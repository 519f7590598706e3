import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  openBooksDatabase,
  type BooksDatabase,
} from '../../pipeline/metering/testing/books-database.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { DeadLetterStore } from '../dlq/dead-letter-store.ts';
import { needleOf } from './needles.ts';
import { blankReasons, markErased } from './postgres-rows.ts';

let postgres: BooksDatabase;
beforeAll(async () => {
  postgres = await openBooksDatabase();
  await postgres.migrate('0001', '9999');
}, 120_000);
afterAll(() => postgres.close());

const query = (text: string, values?: unknown[]) => postgres.database.query(text, values);
const lose = (key: string, account: number, state = 'dead') =>
  query(
    // eslint-disable-next-line local/banned-words -- the name of the column
    `INSERT INTO dead_letters (letter, dead_partition, dead_offset, stage, reason, fingerprint, topic, partition, record_offset, events, account_id, message_id, failed_at, state, changed_at)
     VALUES ($1, 0, 0, 'normalise', 'x', 'group', 'events.raw', 0, 0, 1, $2, 'm', now(), $3, now() - interval '1 day')`,
    [key, account, state],
  );
const states = async () => {
  // eslint-disable-next-line local/banned-words -- the name of the column
  const { rows } = await query('SELECT letter AS key, state FROM dead_letters ORDER BY letter');
  return Object.fromEntries(
    (rows as { key: string; state: string }[]).map((r) => [r.key, r.state]),
  );
};

it('a discard is restored as a whole after an erasure, but never what was erased', async () => {
  const store = new DeadLetterStore(postgres.database as Database);
  for (const key of ['a', 'b', 'sara']) await lose(key, 7);
  await lose('c', 8);
  await store.discard('group', 'asked by sara@example.ir');
  await lose('later', 7);
  expect(await markErased(postgres.database, ['sara', 'later'])).toBe(2);
  // A later erasure finds the same dead letters in the log until it is rewritten.
  expect(await markErased(postgres.database, ['sara', 'later'])).toBe(0);
  await blankReasons(postgres.database, 7, [needleOf('sara@example.ir', false)]);
  expect(await store.lastDiscard('group')).toMatchObject({ deadLetters: 3, events: 3 });
  expect(await store.restore('group')).toEqual({ deadLetters: 3, events: 3 });
  expect(await states()).toEqual({
    ...{ a: 'dead', b: 'dead', c: 'dead' },
    ...{ sara: 'discarded', later: 'discarded' },
  });
  expect(await store.lastDiscard('group')).toBeUndefined();
});

it('a redriven dead letter that is erased stays redriven, and was not changed since', async () => {
  await lose('redriven', 7, 'redriven');
  expect(await markErased(postgres.database, ['redriven'])).toBe(1);
  const { rows } = await query(
    // eslint-disable-next-line local/banned-words -- the name of the column
    `SELECT state, changed_at < now() - interval '1 hour' AS old FROM dead_letters WHERE letter = 'redriven'`,
  );
  expect(rows).toEqual([{ state: 'redriven', old: true }]);
});
