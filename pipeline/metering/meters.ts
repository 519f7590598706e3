import type { ClickHouseClient } from '@clickhouse/client';
import type { Database } from '../../platform/postgres/pool.ts';
import { reachedPercents } from './announce.ts';

/** A Jalali month in Tehran: its name YYYY-MM, and its first and the next month's first instant, ms since the epoch. */
export interface MeterMonth {
  name: string;
  start: number;
  end: number;
}

/** Counts the people seen in the month, per account, and raises the high-water mark (ingest 8). Merged names count as one once the map of identities exists. */
export async function meterProfiles(database: Database, warehouse: ClickHouseClient, month: MeterMonth): Promise<void> {
  const answer = await warehouse.query({
    query: `SELECT account_id AS account, uniqExact(_person) AS people FROM events
      WHERE received_at >= fromUnixTimestamp64Milli({start:Int64}) AND received_at < fromUnixTimestamp64Milli({end:Int64}) GROUP BY account`,
    query_params: { start: month.start, end: month.end },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: 300 },
  });
  const rows = await answer.json<{ account: number | string; people: number | string }>();
  await database.query(
    `INSERT INTO meters (account_id, meter, month, value)
     SELECT account_id, 'profiles', $3, value FROM unnest($1::bigint[], $2::bigint[]) AS found (account_id, value)
     ON CONFLICT (account_id, meter, month) DO UPDATE SET value = greatest(meters.value, excluded.value), updated_at = now()`,
    [rows.map((row) => Number(row.account)), rows.map((row) => Number(row.people)), month.name],
  );
}

/** Writes the announcements that are due, once per meter and month. Answers how many are new. */
export async function announce(database: Database, month: MeterMonth): Promise<number> {
  const answer = await database.query<{ account_id: string; meter: string; value: string; allowance: string }>(
    `SELECT m.account_id, m.meter, m.value, CASE m.meter WHEN 'events' THEN a.included_events ELSE a.included_profiles END AS allowance
     FROM meters m JOIN accounts a ON a.id = m.account_id WHERE m.month = $1`,
    [month.name],
  );
  const due = answer.rows.flatMap((row) => reachedPercents(Number(row.value), Number(row.allowance)).map((percent) => ({ ...row, percent })));
  if (due.length === 0) return 0;
  const written = await database.query(
    `INSERT INTO announcements (account_id, meter, month, percent, value, allowance)
     SELECT account_id, meter, $1, percent, value, allowance FROM unnest($2::bigint[], $3::text[], $4::int[], $5::bigint[], $6::bigint[]) AS due (account_id, meter, percent, value, allowance)
     ON CONFLICT (account_id, meter, month, percent) DO NOTHING`,
    [
      month.name,
      due.map((row) => row.account_id),
      due.map((row) => row.meter),
      due.map((row) => row.percent),
      due.map((row) => row.value),
      due.map((row) => row.allowance),
    ],
  );
  return written.rowCount ?? 0;
}
