import type { ClickHouseClient } from '@clickhouse/client';
import type { QuotaMonth } from '../../events/tehran-time.ts';
import { countPeopleSeen } from '../../platform/meters/people-seen.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { reachedPercents } from './announce.ts';

/**
 * Counts the people seen in the month, per account, and raises the high watermark of the meter
 * (ingest 8): merging distinct ids lowers the count, never the meter.
 */
export async function meterProfiles(
  database: Database,
  warehouse: ClickHouseClient,
  month: QuotaMonth,
): Promise<void> {
  const people = await countPeopleSeen({ warehouse, month });
  await database.query(
    `INSERT INTO meters (account_id, meter, month, value)
     SELECT account_id, 'profiles', $3, value FROM unnest($1::bigint[], $2::bigint[]) AS found (account_id, value)
     ON CONFLICT (account_id, meter, month) DO UPDATE SET value = greatest(meters.value, excluded.value), updated_at = now()`,
    [[...people.keys()], [...people.values()], month.key],
  );
}

/** Records due announcements, once per meter and month. Returns the number of new ones. */
export async function announce(database: Database, month: QuotaMonth): Promise<number> {
  const answer = await database.query<{
    account_id: string;
    meter: string;
    value: string;
    allowance: string;
  }>(
    `SELECT m.account_id, m.meter, m.value, CASE m.meter WHEN 'events' THEN a.included_events ELSE a.included_profiles END AS allowance
     FROM meters m JOIN accounts a ON a.id = m.account_id WHERE m.month = $1`,
    [month.key],
  );
  const due = answer.rows.flatMap((row) =>
    reachedPercents(Number(row.value), Number(row.allowance)).map((percent) => ({
      ...row,
      percent,
    })),
  );
  if (due.length === 0) return 0;
  const written = await database.query(
    `INSERT INTO announcements (account_id, meter, month, percent, value, allowance)
     SELECT account_id, meter, $1, percent, value, allowance FROM unnest($2::bigint[], $3::text[], $4::int[], $5::bigint[], $6::bigint[]) AS due (account_id, meter, percent, value, allowance)
     ON CONFLICT (account_id, meter, month, percent) DO NOTHING`,
    [
      month.key,
      due.map((row) => row.account_id),
      due.map((row) => row.meter),
      due.map((row) => row.percent),
      due.map((row) => row.value),
      due.map((row) => row.allowance),
    ],
  );
  return written.rowCount ?? 0;
}
