import type { ClickHouseClient } from '@clickhouse/client';
import type { QuotaMonth } from '../../../events/tehran-time.ts';
import { KEPT_ROWS } from '../../../platform/meters/kept-rows.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import type { BookMinute } from './decide.ts';

export interface Question {
  accountId: number;
  month: QuotaMonth;
}

/** What PostgreSQL knows at one moment. */
export interface Known {
  meters: { events: number; profiles: number };
  /** Minutes, and days whose minutes are folded. */
  minutes: BookMinute[];
  /** Starts of the folded days, ms since the epoch. */
  days: number[];
  /** By partition of events.raw: records below this offset are counted in the books. */
  counted: Map<number, number>;
}

const READ = `SELECT
  (SELECT json_object_agg(meter, value) FROM meters WHERE account_id = $1 AND month = $2) AS meters,
  (SELECT json_object_agg(partition, next_offset) FROM log_positions WHERE reader = 'metering' AND topic = 'events.raw') AS counted,
  (SELECT json_agg(json_build_array(extract(epoch FROM start)::float8 * 1000, accepted, unbilled, expired, stored, open, is_day)) FROM (
    SELECT start, sum(accepted) AS accepted, sum(unbilled) AS unbilled, sum(expired) AS expired, sum(stored) AS stored, bool_or(open) AS open, bool_or(is_day) AS is_day FROM (
      SELECT coalesce(d.day, b.minute) AS start, b.places - b.repeats - b.duplicates_after - b.dead AS accepted, b.unbilled, b.expired, b.stored, b.open, d.day IS NOT NULL AS is_day
      FROM books AS b LEFT JOIN book_days AS d ON d.account_id = b.account_id AND d.day = book_day(b.minute) WHERE b.account_id = $1 AND b.minute >= $3 AND b.minute < $4
      UNION ALL SELECT day, places - repeats - duplicates_after - dead, unbilled, expired, stored, open, true FROM book_days WHERE account_id = $1 AND day >= $3 AND day < $4
    ) AS booked GROUP BY start) AS spans) AS minutes`;

interface Row {
  meters: Record<string, number> | null;
  counted: Record<string, number> | null;
  minutes: [number, number, number, number, number, boolean, boolean][] | null;
}

/** In one statement: meters, books and positions move together, so they fit each other. */
export async function readKnown(
  database: Database,
  { accountId, month }: Question,
): Promise<Known> {
  const { rows } = await database.query<Row>(READ, [
    accountId,
    month.key,
    new Date(month.from),
    new Date(month.to),
  ]);
  const { meters, counted, minutes } = rows[0] ?? { meters: null, counted: null, minutes: null };
  return {
    meters: { events: meters?.['events'] ?? 0, profiles: meters?.['profiles'] ?? 0 },
    counted: new Map(
      Object.entries(counted ?? {}).map(([partition, next]) => [Number(partition), next]),
    ),
    days: (minutes ?? []).flatMap(([start, , , , , , isDay]) => (isDay ? [start] : [])),
    minutes: (minutes ?? []).map(([minute, accepted, unbilled, expired, stored, open]) => ({
      minute,
      accepted,
      unbilled,
      expired,
      stored,
      open,
    })),
  };
}

/**
 * Rows of the account by minute of reception (by day in folded days), of raw records that the books
 * have counted: the others will raise the meter by themselves.
 */
export async function countRows(
  warehouse: ClickHouseClient,
  { accountId, month, counted, days }: Question & Pick<Known, 'counted' | 'days'>,
): Promise<Map<number, number>> {
  const answer = await warehouse.query({
    query: `SELECT intDiv(toUnixTimestamp(received_at) + 12600, 86400) * 86400 - 12600 AS day, if(has({days:Array(Int64)}, day), day, toUnixTimestamp(toStartOfMinute(received_at))) AS minute, count() AS n FROM events
      WHERE account_id = {account:UInt64} AND received_at >= fromUnixTimestamp64Milli({from:Int64}) AND received_at < fromUnixTimestamp64Milli({to:Int64})
        AND _offset < transform(_partition, {partitions:Array(UInt16)}, {offsets:Array(UInt64)}, 0) AND ${KEPT_ROWS} GROUP BY day, minute`,
    query_params: {
      account: accountId,
      from: month.from,
      to: month.to,
      days: days.map((day) => day / 1000),
      partitions: [...counted.keys()],
      offsets: [...counted.values()],
    },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: 300 },
  });
  const rows = await answer.json<{ minute: number | string; n: number | string }>();
  return new Map(rows.map((row) => [Number(row.minute) * 1000, Number(row.n)]));
}
