import type { Database } from '../../platform/postgres/pool.ts';
import { BOOKED } from './count.ts';

/** Minutes are kept one by one this long: two whole Jalali months and more; then as days. */
const MINUTES_KEPT_DAYS = 70;

/** Days are kept as long as events: nothing of an older day is left to compare. */
const DAYS_KEPT = 400;

/** Days of accounts that one statement folds, at most 1,440 minutes each. */
const ACCOUNTS = 50;

const COLUMNS = [...BOOKED, 'stored'];

/**
 * Per account one look at its oldest minute, and at the minutes of its day, whatever the number of
 * minutes: a join would let PostgreSQL read all of `books`.
 */
const FOLD = `
WITH due AS (
  SELECT t.account_id, oldest.minute, book_day(oldest.minute) + interval '24 hours' AS until
  FROM book_totals AS t CROSS JOIN LATERAL (SELECT minute FROM books WHERE books.account_id = t.account_id ORDER BY minute LIMIT 1) AS oldest
  WHERE oldest.minute < book_day(now() - $1 * interval '24 hours') LIMIT $2
), moved AS (
  DELETE FROM books WHERE ctid = ANY (ARRAY(
    SELECT one.ctid FROM due CROSS JOIN LATERAL (
      SELECT b.ctid FROM books AS b WHERE b.account_id = due.account_id AND b.minute >= due.minute AND b.minute < due.until OFFSET 0
    ) AS one))
  RETURNING *
), folded AS (
  INSERT INTO book_days AS d (account_id, day, ${COLUMNS.join(', ')}, open, changed_at)
  SELECT account_id, book_day(minute), ${COLUMNS.map((name) => `sum(${name})`).join(', ')}, bool_or(open), clock_timestamp() FROM moved GROUP BY 1, 2
  ON CONFLICT (account_id, day) DO UPDATE SET ${COLUMNS.map((name) => `${name} = d.${name} + excluded.${name}`).join(', ')},
    open = d.open OR excluded.open, changed_at = clock_timestamp()
)
SELECT count(*)::int AS minutes FROM moved`;

const FORGET = `DELETE FROM book_days WHERE (account_id, day) IN
  (SELECT account_id, day FROM book_days WHERE day < now() - $1 * interval '24 hours' AND NOT open LIMIT 1000)`;

/**
 * Adds the minutes of old days to one row a day, also minutes that were counted late: the totals
 * stay the same. Returns the number of minutes folded; 0: nothing is left to fold.
 */
export async function foldOldMinutes(database: Pick<Database, 'query'>): Promise<number> {
  const { rows } = await database.query<{ minutes: number }>(FOLD, [MINUTES_KEPT_DAYS, ACCOUNTS]);
  const minutes = rows[0]?.minutes ?? 0;
  if (minutes === 0) await database.query(FORGET, [DAYS_KEPT]);
  return minutes;
}
