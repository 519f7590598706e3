import type { ClickHouseClient } from '@clickhouse/client';
import { KEPT_ROWS } from '../../platform/meters/kept-rows.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { BookGap } from './book-losses.ts';

/** What is compared as a whole: a minute of reception, or a day whose minutes are folded. */
interface Span {
  table: 'books' | 'book_days';
  column: 'minute' | 'day';
  /** Length, and offset of its starts from the Unix epoch, s. */
  seconds: number;
  shift: number;
  /** Spans whose starts are this close are counted with one query, ms. */
  together: number;
  /** Condition of the rows that are compared. */
  where: string;
  /** Condition of the losses of a row. */
  losses: string;
}

const SPANS: readonly Span[] = [
  {
    ...{ table: 'books', column: 'minute', seconds: 60, shift: 0, together: 3_600_000 },
    // A minute that was counted after its day was folded is moved into the day first.
    where: `open AND NOT EXISTS (SELECT 1 FROM book_days AS d WHERE d.account_id = books.account_id AND d.day = book_day(books.minute))`,
    losses: 'l.minute = books.minute',
  },
  {
    ...{ table: 'book_days', column: 'day', seconds: 86_400, shift: 12_600, together: 1 },
    where: 'open',
    losses: 'book_day(l.minute) = book_days.day',
  },
];

/** Counts of an account that changed since they last balanced. */
interface OpenSpan {
  account_id: number;
  /** ms since the epoch. */
  start: number;
  /** Rows that ClickHouse must contain. */
  expected: number;
  stored: number;
  changed: string;
  /** Time of the last change, ms since the epoch. */
  changed_at: number;
}

/** The differences of the open minutes and days. */
export interface Reconciliation {
  /**
   * Rows missing in ClickHouse (negative: too many) although normaliser and sink have processed
   * everything that was counted: must be 0.
   */
  gap: number;
  /** Rows that are published and not stored yet. */
  inFlight: number;
  /** Minutes and days that were compared. */
  compared: number;
  /** The minutes and days that make up the gap. */
  gaps: BookGap[];
  /** Start of the oldest minute or day with rows in flight, ms; undefined: there is none. */
  oldestInFlight: number | undefined;
}

interface ReconcileOptions {
  database: Pick<Database, 'query'>;
  warehouse: ClickHouseClient;
  /**
   * Normaliser and sink have processed everything counted before this time, ms since the epoch.
   */
  processedUntil: number;
  /** Maximum of minutes, and of days. */
  limit: number;
}

/**
 * Compares published events with the rows of ClickHouse, minute by minute (day by day for old
 * days), for up to `limit` of each that changed since they last balanced.
 */
export async function reconcile(options: ReconcileOptions): Promise<Reconciliation> {
  const reconciliation: Reconciliation = {
    ...{ gap: 0, inFlight: 0, compared: 0, gaps: [], oldestInFlight: undefined },
  };
  for (const span of SPANS) {
    const { gap, inFlight, compared, gaps, oldestInFlight } = await reconcileSpans(span, options);
    reconciliation.oldestInFlight = earlier(reconciliation.oldestInFlight, oldestInFlight);
    reconciliation.gaps.push(...gaps);
    reconciliation.gap += gap;
    reconciliation.inFlight += inFlight;
    reconciliation.compared += compared;
  }
  return reconciliation;
}

async function reconcileSpans(
  span: Span,
  { database, warehouse, processedUntil, limit }: ReconcileOptions,
): Promise<Reconciliation> {
  const open = await readOpen(database, span, limit);
  const reconciliation: Reconciliation = {
    ...{ gap: 0, inFlight: 0, compared: open.length, gaps: [], oldestInFlight: undefined },
  };
  const groups = Map.groupBy(open, ({ start }) => Math.floor(start / span.together));
  for (const some of groups.values()) {
    const counts = await countStored(warehouse, span, some);
    const compared = some.map((one) => ({
      ...one,
      found: counts.get(`${one.account_id} ${one.start}`) ?? 0,
    }));
    for (const { account_id, start, expected, found, changed_at } of compared) {
      const difference = expected - found;
      if (difference === 0) continue;
      if (changed_at >= processedUntil) {
        reconciliation.inFlight += difference;
        reconciliation.oldestInFlight = earlier(reconciliation.oldestInFlight, start);
      } else {
        reconciliation.gap += difference;
        reconciliation.gaps.push({ account_id, start, gap: difference });
      }
    }
    const isBalanced = (one: { expected: number; found: number }) => one.expected === one.found;
    await writeStored(database, span, { spans: compared.filter(isBalanced), open: false });
    const differing = compared.filter((one) => !isBalanced(one) && one.stored !== one.found);
    await writeStored(database, span, { spans: differing, open: true });
  }
  return reconciliation;
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

async function readOpen(
  database: Pick<Database, 'query'>,
  { table, column, where, losses }: Span,
  limit: number,
): Promise<OpenSpan[]> {
  const answer = await database.query<{
    account_id: string;
    start: Date;
    expected: string;
    stored: string;
    changed: string;
    changed_at: number;
  }>(
    `SELECT account_id, ${column} AS start, places - repeats - duplicates_after - dead - expired
       - coalesce((SELECT sum(lost) FROM book_losses AS l WHERE l.account_id = ${table}.account_id AND ${losses}), 0) AS expected, stored, changed_at::text AS changed, extract(epoch FROM changed_at)::float8 * 1000 AS changed_at
     FROM ${table} WHERE ${where} ORDER BY ${column} LIMIT $1`,
    [limit],
  );
  return answer.rows.map((row) => ({
    ...row,
    account_id: Number(row.account_id),
    start: row.start.getTime(),
    expected: Number(row.expected),
    stored: Number(row.stored),
  }));
}

async function countStored(
  warehouse: ClickHouseClient,
  { seconds, shift }: Span,
  spans: readonly OpenSpan[],
): Promise<Map<string, number>> {
  const starts = spans.map(({ start }) => start);
  const answer = await warehouse.query({
    query: `SELECT account_id AS account, intDiv(toUnixTimestamp(received_at) + {shift:UInt32}, {seconds:UInt32}) * {seconds:UInt32} - {shift:UInt32} AS start, countIf(${KEPT_ROWS}) AS n
      FROM events WHERE account_id IN {accounts:Array(UInt64)} AND received_at >= fromUnixTimestamp64Milli({first:Int64}) AND received_at < fromUnixTimestamp64Milli({end:Int64})
      GROUP BY account, start`,
    query_params: {
      accounts: [...new Set(spans.map(({ account_id }) => account_id))],
      first: starts.reduce((a, b) => Math.min(a, b)),
      end: starts.reduce((a, b) => Math.max(a, b)) + seconds * 1000,
      ...{ seconds, shift },
    },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: 20 },
  });
  const rows = await answer.json<{
    account: number | string;
    start: number | string;
    n: number | string;
  }>();
  return new Map(
    rows.map((row) => [`${Number(row.account)} ${Number(row.start) * 1000}`, Number(row.n)]),
  );
}

/** Records the stored rows of spans, unless their counts changed in the meantime. */
async function writeStored(
  database: Pick<Database, 'query'>,
  { table, column }: Span,
  { spans, open }: { spans: readonly (OpenSpan & { found: number })[]; open: boolean },
): Promise<void> {
  if (spans.length === 0) return;
  await database.query(
    `UPDATE ${table} AS b SET stored = found.stored, open = $5
     FROM unnest($1::bigint[], $2::timestamptz[], $3::bigint[], $4::timestamptz[]) AS found (account_id, start, stored, changed_at)
     WHERE b.account_id = found.account_id AND b.${column} = found.start AND b.changed_at = found.changed_at`,
    [
      spans.map((one) => one.account_id),
      spans.map((one) => new Date(one.start)),
      spans.map((one) => one.found),
      spans.map((one) => one.changed),
      open,
    ],
  );
}
