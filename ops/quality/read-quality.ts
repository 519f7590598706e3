import type { ClickHouseClient } from '@clickhouse/client';
import { dayText, tehranDay } from '../../events/tehran-time.ts';

/** Rejects or warnings of one SDK and version for one reason. */
export interface QualityGroup {
  /** Name and version as the client sent them, such as `web/1.0`; empty: it sent none. */
  sdk: string;
  kind: string;
  code: string;
  /** The field that was wrong; empty: the whole event. */
  field: string;
  events: number;
  accounts: number;
  /** The accounts with the most of them. */
  largest: { account_id: number; events: number }[];
  /** Day in Tehran, YYYY-MM-DD. */
  last_day: string;
}

const LARGEST = 3;

/** Groups with the most events first. */
export async function readQuality(
  client: ClickHouseClient,
  { since, accountId, limit }: { since: number; accountId: number | undefined; limit: number },
): Promise<QualityGroup[]> {
  const account = accountId === undefined ? '' : 'AND account_id = {account:UInt64}';
  const answer = await client.query({
    query: `SELECT sdk, kind, code, field, sum(n) AS events, uniqExact(account_id) AS accounts, max(last) AS last_day,
        arraySlice(arrayReverseSort(one -> one.2, groupArray((account_id, n))), 1, ${LARGEST}) AS largest
      FROM (
        SELECT account_id, sdk, kind, code, field, sum(count) AS n, max(day) AS last FROM ingest_quality FINAL
        WHERE day >= {day:Date} ${account} GROUP BY account_id, sdk, kind, code, field
      )
      GROUP BY sdk, kind, code, field ORDER BY events DESC, sdk, kind, code, field LIMIT {limit:UInt32}`,
    query_params: { day: dayText(tehranDay(since)), account: accountId, limit },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: 30, output_format_json_quote_64bit_integers: 0 },
  });
  type Row = Omit<QualityGroup, 'largest'> & { largest: [number, number][] };
  const rows = await answer.json<Row>();
  return rows.map((row) => ({
    ...row,
    largest: row.largest.map(([account_id, events]) => ({ account_id, events })),
  }));
}
