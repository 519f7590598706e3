import { KEPT_EVENTS } from '../clickhouse/kept-events.ts';
import type { ClickHouseClient } from '@clickhouse/client';
import type { QuotaMonth } from '../../events/tehran-time.ts';
import { eachShard } from '../clickhouse/shards.ts';

interface PeopleQuestion {
  warehouse: ClickHouseClient;
  month: QuotaMonth;
  /** Only this account. */
  accountId?: number;
}

const SECONDS = 300;

/**
 * People seen in a month, by account (ingest 8, meter "profiles"): persons with an event received
 * in that month that the platform did not write itself. A person is what reports group by (reports:
 * People): distinct ids that are merged now count once. Accounts without events are absent.
 */
export async function countPeopleSeen({
  warehouse,
  month,
  accountId,
}: PeopleQuestion): Promise<Map<number, number>> {
  const own = accountId === undefined ? '' : 'AND account_id = {account:UInt64}';
  const joined = `SELECT account_id AS joined_account, sipHash64(name) AS joined_name, sipHash64(canonical) AS joined_person
    FROM identities_flat FINAL WHERE name != canonical ${own}`;
  const seen = new Map<number, number>();
  // The join is of one shard, as an account is.
  for (const client of eachShard(warehouse)) {
    const answer = await client.query({
      // A row without a match has 0 in both joined columns.
      query: `SELECT account_id AS account, uniqExact(if(joined_name = _person, joined_person, _person)) AS people
      FROM events LEFT ANY JOIN (${joined}) AS identities ON account_id = joined_account AND _person = joined_name
      WHERE received_at >= fromUnixTimestamp64Milli({from:Int64}) AND received_at < fromUnixTimestamp64Milli({to:Int64}) AND source != 'platform' AND ${KEPT_EVENTS} ${own} GROUP BY account`,
      query_params: {
        from: month.from,
        to: month.to,
        ...(accountId === undefined ? {} : { account: accountId }),
      },
      format: 'JSONEachRow',
      clickhouse_settings: { max_execution_time: SECONDS },
    });
    const rows = await answer.json<{ account: number | string; people: number | string }>();
    for (const row of rows) seen.set(Number(row.account), Number(row.people));
  }
  return seen;
}
