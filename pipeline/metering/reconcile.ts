import type { ClickHouseClient } from '@clickhouse/client';
import { KEPT_ROWS } from '../../platform/meters/kept-rows.ts';
import type { Database } from '../../platform/postgres/pool.ts';

const HOUR = 3_600_000;

/** A minute of an account whose counts changed since it last balanced. */
interface OpenMinute {
  account_id: number;
  minute: number;
  /** Rows that ClickHouse must contain. */
  expected: number;
  stored: number;
  changed: string;
  /** Time of the last change, ms since the epoch. */
  changed_at: number;
}

/** The differences of the open minutes. */
export interface Reconciliation {
  /**
   * Rows missing in ClickHouse (negative: too many) although normaliser and sink have processed
   * everything that was counted: must be 0.
   */
  gap: number;
  /** Rows that are published and not stored yet. */
  inFlight: number;
  minutes: number;
}

/**
 * Compares published events with the rows of ClickHouse, minute by minute, for up to `limit`
 * minutes that changed since they last balanced.
 * @param processedUntil normaliser and sink have processed everything counted before this time, ms
 * since the epoch
 */
export async function reconcile(options: {
  database: Database;
  warehouse: ClickHouseClient;
  processedUntil: number;
  limit: number;
}): Promise<Reconciliation> {
  const { database, processedUntil } = options;
  const answer = await database.query<{
    account_id: string;
    minute: Date;
    expected: string;
    stored: string;
    changed: string;
    changed_at: number;
  }>(
    `SELECT account_id, minute, places - repeats - duplicates_after - dead - expired AS expected, stored, changed_at::text AS changed, extract(epoch FROM changed_at)::float8 * 1000 AS changed_at
     FROM books WHERE open ORDER BY minute LIMIT $1`,
    [options.limit],
  );
  const open: OpenMinute[] = answer.rows.map((row) => ({
    ...row,
    account_id: Number(row.account_id),
    minute: row.minute.getTime(),
    expected: Number(row.expected),
    stored: Number(row.stored),
  }));
  const reconciliation: Reconciliation = { gap: 0, inFlight: 0, minutes: open.length };
  for (const minutes of byHour(open)) {
    const counts = await countStored(options.warehouse, minutes);
    const balanced: OpenMinute[] = [];
    const differing: OpenMinute[] = [];
    for (const minute of minutes) {
      const found = { ...minute, stored: counts.get(`${minute.account_id} ${minute.minute}`) ?? 0 };
      (found.stored === minute.expected ? balanced : differing).push(found);
      if (minute.changed_at < processedUntil) reconciliation.gap += minute.expected - found.stored;
      else reconciliation.inFlight += minute.expected - found.stored;
    }
    await writeStored(database, balanced, false);
    await writeStored(database, differing, true);
  }
  return reconciliation;
}

function byHour(open: readonly OpenMinute[]): OpenMinute[][] {
  return [...Map.groupBy(open, ({ minute }) => Math.floor(minute / HOUR)).values()];
}

async function countStored(
  warehouse: ClickHouseClient,
  minutes: readonly OpenMinute[],
): Promise<Map<string, number>> {
  const times = minutes.map(({ minute }) => minute);
  const answer = await warehouse.query({
    query: `SELECT account_id AS account, toUnixTimestamp(toStartOfMinute(received_at)) AS minute, countIf(${KEPT_ROWS}) AS n
      FROM events WHERE account_id IN {accounts:Array(UInt64)} AND received_at >= fromUnixTimestamp64Milli({first:Int64}) AND received_at < fromUnixTimestamp64Milli({end:Int64})
      GROUP BY account, minute`,
    query_params: {
      accounts: [...new Set(minutes.map(({ account_id }) => account_id))],
      first: Math.min(...times),
      end: Math.max(...times) + 60_000,
    },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: 20 },
  });
  const rows = await answer.json<{
    account: number | string;
    minute: number;
    n: number | string;
  }>();
  return new Map(rows.map((row) => [`${Number(row.account)} ${row.minute * 1000}`, Number(row.n)]));
}

/** Records the stored rows of a minute, unless its counts changed in the meantime. */
async function writeStored(
  database: Database,
  minutes: readonly OpenMinute[],
  open: boolean,
): Promise<void> {
  if (minutes.length === 0) return;
  await database.query(
    `UPDATE books SET stored = found.stored, open = $5
     FROM unnest($1::bigint[], $2::timestamptz[], $3::bigint[], $4::timestamptz[]) AS found (account_id, minute, stored, changed_at)
     WHERE books.account_id = found.account_id AND books.minute = found.minute AND books.changed_at = found.changed_at`,
    [
      minutes.map((one) => one.account_id),
      minutes.map((one) => new Date(one.minute)),
      minutes.map((one) => one.stored),
      minutes.map((one) => one.changed),
      open,
    ],
  );
}
