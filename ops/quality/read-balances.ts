import type { ClickHouseClient } from '@clickhouse/client';

/** What became of the calls of one version of an SDK. */
export interface SdkBalances {
  library: string;
  version: string;
  clients: number;
  accounts: number;
  made: number;
  sent: number;
  /** By cause. */
  dropped: Record<string, number>;
  /**
   * Neither sent nor dropped when a client was heard of last: they wait in a browser that may come
   * back, or are lost.
   */
  unresolved: number;
}

/**
 * Balances of clients that were heard of since a time, by version; those that made most first. The
 * counts of a client go on when its version changes, so each version gets what was added to them.
 */
export async function readBalances(
  client: ClickHouseClient,
  { since, accountId, limit }: { since: number; accountId: number | undefined; limit: number },
): Promise<SdkBalances[]> {
  const account = accountId === undefined ? '' : 'WHERE account_id = {account:UInt64}';
  const before = (column: string, none: string) =>
    `lagInFrame(${column}, 1, ${none}) OVER (PARTITION BY account_id, app_id, library, client ORDER BY received_at, made ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)`;
  // A client whose storage was cleared begins again at zero.
  const added = (column: string) =>
    `if(made >= before.1, toInt64(${column}) - toInt64(before.${column === 'made' ? 1 : 2}), toInt64(${column}))`;
  const answer = await client.query({
    query: `SELECT library, version, uniqExact(account_id, app_id, client) AS clients, uniqExact(account_id) AS accounts,
        sum(made_here) AS made, sum(sent_here) AS sent, sumMap(dropped_here) AS dropped, sum(open) AS unresolved
      FROM (
        SELECT account_id, app_id, library, version, client, received_at,
          ${added('made')} AS made_here, ${added('sent')} AS sent_here,
          mapFilter((_, n) -> n > 0, if(made >= before.1, mapSubtract(CAST(dropped, 'Map(String, Int64)'), CAST(before.3, 'Map(String, Int64)')), CAST(dropped, 'Map(String, Int64)'))) AS dropped_here,
          if(is_newest, greatest(0, toInt64(made) - toInt64(sent) - toInt64(arraySum(mapValues(dropped))) - in_request), 0) AS open
        FROM (
          SELECT *, (${before('made', 'toUInt64(0)')}, ${before('sent', 'toUInt64(0)')}, ${before('dropped', 'map()::Map(LowCardinality(String), UInt64)')}) AS before,
            received_at = max(received_at) OVER (PARTITION BY account_id, app_id, library, client) AS is_newest
          FROM sdk_balances FINAL ${account}
        )
      )
      WHERE received_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      GROUP BY library, version ORDER BY made DESC, library, version LIMIT {limit:UInt32}`,
    query_params: { since: Math.floor(since), account: accountId, limit },
    format: 'JSONEachRow',
    clickhouse_settings: { max_execution_time: 30, output_format_json_quote_64bit_integers: 0 },
  });
  return answer.json<SdkBalances>();
}
