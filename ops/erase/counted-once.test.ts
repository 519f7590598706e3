import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  openBooksDatabase,
  type BooksDatabase,
} from '../../pipeline/metering/testing/books-database.ts';
import { retentionLedger, type Step } from '../../projections/retention/steps.ts';
import { ErasureStore } from './erasure-store.ts';

const ACCOUNT = 7;
const STEP: Step = {
  ...{ accountId: ACCOUNT, day: '2026-01-01', below: 1_800_000_000_000 },
  ...{ receivedBefore: 1_800_000_000_000, counts: [[1_700_000_040, 3]] },
};
let postgres: BooksDatabase;
beforeAll(async () => {
  postgres = await openBooksDatabase();
  await postgres.migrate('0001', '9999');
}, 120_000);
beforeEach(() => query('TRUNCATE erasures, retention_steps, retention_limits, books CASCADE'));
afterAll(() => postgres.close());

const query = (text: string) => postgres.database.query(text);

async function enforced(names: readonly string[]): Promise<number> {
  const id = await new ErasureStore(postgres.database).request(ACCOUNT, names);
  await query(`UPDATE erasures SET state = 'enforced' WHERE id = ${id}`);
  return id;
}

async function booked(): Promise<unknown> {
  const { rows } = await query('SELECT sum(expired)::int AS n FROM books');
  return (rows[0] as { n: number | null }).n;
}

it('rows of an erasure that was killed are not booked by retention, too', async () => {
  const store = new ErasureStore(postgres.database);
  const ledger = retentionLedger(postgres.database);
  const id = await enforced(['sara']);
  const early = await ledger.clock();
  expect(await store.counted(id, STEP.counts, await store.clock())).toBe(true);
  expect(await ledger.record(STEP, await ledger.clock())).toBe(false);
  const erasure = await store.find(id);
  if (erasure) await store.finishRemoval(erasure);
  // It counted before the erasure had removed them.
  expect(await ledger.record(STEP, early)).toBe(false);
  expect(await booked()).toBe(3);
  expect(await ledger.record({ ...STEP, counts: [] }, await ledger.clock())).toBe(true);
});

it('rows that retention has counted are not booked by an erasure, too', async () => {
  const store = new ErasureStore(postgres.database);
  const ledger = retentionLedger(postgres.database);
  const id = await enforced(['sara']);
  const early = await store.clock();
  expect(await ledger.record(STEP, await ledger.clock())).toBe(true);
  expect(await store.counted(id, STEP.counts, await store.clock())).toBe(false);
  await ledger.close(STEP, '2026-11-22');
  expect(await store.counted(id, STEP.counts, early)).toBe(false);
  expect(await store.counted(id, [], await store.clock())).toBe(true);
  expect(await booked()).toBe(3);
});

it('an erasure of some of the same names waits for the one before; one of other names does not', async () => {
  const store = new ErasureStore(postgres.database);
  const first = await enforced(['sara']);
  const wider = await enforced(['sara', 'sara-2']);
  const other = await enforced(['omid']);
  expect(await store.counted(first, STEP.counts, await store.clock())).toBe(true);
  expect(await store.counted(wider, STEP.counts, await store.clock())).toBe(false);
  expect(await store.counted(other, [], await store.clock())).toBe(true);
  // A repeated step of the same erasure keeps its counts.
  expect(await store.counted(first, [], await store.clock())).toBe(true);
  expect((await store.find(first))?.counts).toEqual(STEP.counts);
});
