import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { COUNTS } from '../../platform/meters/book-counts.ts';
import { MinuteDeltas } from './count.ts';
import { foldOldMinutes } from './fold-minutes.ts';
import { readReconciliation } from '../../platform/meters/read-reconciliation.ts';
import { openBooksDatabase, type BooksDatabase } from './testing/books-database.ts';
import { writeCounts } from './write-counts.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
const COLUMNS = [...COUNTS, 'stored'];
const sums = (columns = COLUMNS) =>
  columns.map((name) => `coalesce(sum(${name}), 0)::int AS ${name}`).join(', ');

let books: BooksDatabase;
const query = async <T>(text: string, values?: unknown[]): Promise<T[]> =>
  (await books.database.query(text, values)).rows as T[];

/** The sums that the totals must equal. */
const expected = (): Promise<unknown[]> =>
  query(
    `SELECT account_id::int, ${sums()} FROM (SELECT account_id, ${COLUMNS.join(', ')} FROM books UNION ALL SELECT account_id, ${COLUMNS.join(', ')} FROM book_days) AS b GROUP BY account_id ORDER BY account_id`,
  );
const totals = (): Promise<unknown[]> =>
  query(
    `SELECT account_id::int, ${sums()} FROM book_totals GROUP BY account_id ORDER BY account_id`,
  );

let next = 0;
async function count(accountId: number, receivedAt: number, places: number): Promise<void> {
  const deltas = new MinuteDeltas();
  deltas.add(accountId, receivedAt, { places, duplicates_before: 1 });
  deltas.add(accountId + 1, receivedAt, { places: 1 });
  await writeCounts(books.database, {
    ...{ topic: 't', partition: 0, from: next, next: next + 1, state: {} },
    ...{ deltas: deltas.all(), monthOf: () => '1405-09' },
  });
  next++;
}

/** The minutes of an account balance: every published row is stored. */
async function balance(): Promise<void> {
  await query(
    'UPDATE books SET stored = places - repeats - duplicates_after - dead - expired, open = false',
  );
}

async function foldAll(): Promise<number> {
  let folded = 0;
  for (;;) {
    const minutes = await foldOldMinutes(books.database);
    if (minutes === 0) return folded;
    folded += minutes;
  }
}

describe('the totals of the books', () => {
  beforeAll(async () => {
    books = await openBooksDatabase();
    await books.migrate('0002', '0003');
    // Counted by the release before the totals.
    await query(
      `INSERT INTO books (account_id, minute, places, stored, open) SELECT a, now() - a * interval '1 minute', 10, 10, false FROM generate_series(1, 3) AS a`,
    );
    await books.migrate('0027', '0027');
    await books.migrate('0034', '0034');
    await books.migrate('0055', '0055');
  }, 60_000);
  afterAll(() => books.close());

  it('begin with what was counted before they existed', async () => {
    expect(await totals()).toEqual(await expected());
    expect(await readReconciliation(books.database, { accountId: 2, spooled: 0 })).toMatchObject({
      published: 10,
      stored: 10,
    });
  });

  describe('after counts, comparisons, retention and folding', () => {
    beforeEach(async () => {
      await query('DELETE FROM books');
      await query('DELETE FROM book_days');
      await query('DELETE FROM book_totals');
    });

    it('equal the sum of the minutes', async () => {
      const now = Date.now();
      for (const age of [0, 0, MINUTE, DAY]) await count(7, now - age, 3);
      expect(await totals()).toEqual(await expected());
      await balance();
      await query(
        'UPDATE books SET expired = expired + 1, stored = stored - 1 WHERE account_id = 7',
      );
      expect(await totals()).toEqual(await expected());
      await query('DELETE FROM books WHERE account_id = 8');
      expect(await readReconciliation(books.database, { accountId: 8, spooled: 0 })).toMatchObject({
        received: 0,
      });
    });

    it('stay the same when old minutes become days, and young minutes stay minutes', async () => {
      const now = Date.now();
      for (const age of [0, MINUTE, 80 * DAY, 80 * DAY + MINUTE, 90 * DAY, 69 * DAY])
        await count(7, now - age, 5);
      await balance();
      const before = await totals();
      expect(await foldAll()).toBe(6);
      expect(await totals()).toEqual(before);
      expect(await expected()).toEqual(before);
      const [left] = await query<{ n: number }>(
        `SELECT count(*)::int AS n FROM books WHERE minute < now() - interval '71 days'`,
      );
      expect(left?.n).toBe(0);
      const days = await query<{ open: boolean }>('SELECT open FROM book_days');
      expect(days.every(({ open }) => !open)).toBe(true);
      expect(days.length).toBeGreaterThanOrEqual(4);
    });

    it('contain a count that arrives after its minute became a part of a day', async () => {
      const late = Date.now() - 80 * DAY;
      await count(7, late, 5);
      await balance();
      await foldAll();
      await count(7, late, 2);
      expect(await foldAll()).toBe(2);
      const [day] = await query(
        'SELECT places::int, stored::int, open FROM book_days WHERE account_id = 7',
      );
      expect(day).toEqual({ places: 7, stored: 5, open: true });
      expect(await totals()).toEqual(await expected());
    });

    it('keep what was booked on days that are forgotten after 400 days', async () => {
      const now = Date.now();
      await count(7, now - 401.5 * DAY, 5);
      await count(7, now - 399 * DAY, 5);
      await balance();
      await foldAll();
      const days = await query('SELECT 1 FROM book_days WHERE account_id = 7');
      expect(days).toHaveLength(1);
      expect(await readReconciliation(books.database, { accountId: 7, spooled: 0 })).toMatchObject({
        published: 10,
        stored: 10,
        in_flight: 0,
      });
    });

    it('are folded without reading the minutes that stay', async () => {
      const old = 20;
      await query(
        `INSERT INTO books (account_id, minute, places, stored, open)
         SELECT 7, date_trunc('day', now()) - interval '80 days' + m * interval '1 minute', 1, 1, false FROM generate_series(1, $1::int) AS m`,
        [old],
      );
      await query(
        `INSERT INTO books (account_id, minute, places, stored, open)
         SELECT 7, date_trunc('minute', now()) - m * interval '1 minute', 1, 1, false FROM generate_series(1, 20000) AS m`,
      );
      let read = 0;
      const countRows = ({ Plans = [], ...node }: PlanNode) => {
        const removed = (node['Rows Removed by Filter'] ?? 0) + node['Actual Rows'];
        if (node['Relation Name'] === 'books') read += removed * node['Actual Loops'];
        Plans.forEach(countRows);
      };
      await foldOldMinutes({
        async query(statement: string, values: unknown[]) {
          const [row] = await query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
            `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${statement}`,
            values,
          );
          if (row) countRows(row['QUERY PLAN'][0].Plan);
          return { rows: [{ minutes: 1 }] };
        },
      } as unknown as BooksDatabase['database']);
      expect(await query('SELECT 1 FROM book_days')).toHaveLength(1);
      expect(read).toBeLessThanOrEqual(4 * old);
      expect(await totals()).toEqual(await expected());
    });

    it('are read with the same pages after a year of 5 accounts as on the first day', async () => {
      const pagesOf = async (statement: string): Promise<number> => {
        const [row] = await query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
          `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${statement}`,
        );
        const plan = row?.['QUERY PLAN'][0].Plan ?? {};
        return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
      };
      const fill = async (hours: number) => {
        await query(
          `INSERT INTO books (account_id, minute, places, stored, open)
           SELECT a, date_trunc('hour', now()) - h * interval '4 hours', 1, 1, false FROM generate_series(1, 5) AS a, generate_series(0, $1::int) AS h
           ON CONFLICT DO NOTHING`,
          [hours / 4],
        );
        await query('VACUUM ANALYZE books');
        await query('VACUUM ANALYZE book_totals');
        return {
          totals: await pagesOf('SELECT sum(places) FROM book_totals'),
          open: await pagesOf(OPEN_MINUTES),
        };
      };
      const day = await fill(24);
      const year = await fill(24 * 365);
      expect(year.totals).toBeLessThanOrEqual(day.totals + 1);
      expect(year.open).toBeLessThanOrEqual(day.open + 1);
      const found = await readReconciliation(books.database, { spooled: 0 });
      expect(found.published).toBe(5 * (6 * 365 + 1));
      await foldAll();
      expect(await totals()).toEqual(await expected());
      const [kept] = await query<{ n: number }>('SELECT count(*)::int AS n FROM books');
      expect(kept?.n).toBeLessThanOrEqual(5 * 6 * 71);
    }, 120_000);
  });
});

/** A node of a plan that EXPLAIN ANALYZE returns. */
interface PlanNode {
  Plans?: PlanNode[];
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
}

const OPEN_MINUTES = `SELECT account_id FROM books WHERE open AND NOT EXISTS
  (SELECT 1 FROM book_days AS d WHERE d.account_id = books.account_id AND d.day = book_day(books.minute)) ORDER BY minute LIMIT 5000`;
