import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import { dayText, tehranDay } from '../../events/tehran-time.ts';
import { KEPT_ROWS } from '../../platform/meters/kept-rows.ts';
import type { Step } from './steps.ts';

/**
 * What of an account leaves: rows with a timestamp below `below` that were received before
 * `receivedBefore`; ms since the epoch.
 */
export interface Leaving {
  accountId: number;
  below: number;
  receivedBefore: number;
}

/**
 * ClickHouse as retention needs it. Every method rejects when it does not answer; repeating is
 * harmless.
 */
export interface RetentionWarehouse {
  /** Days (UTC, YYYY-MM-DD) with rows that leave, oldest first. */
  days(leaving: Leaving): Promise<string[]>;
  /**
   * The rows of one such day by the minute of their reception: those that the books count as
   * stored.
   */
  counts(leaving: Leaving, day: string): Promise<[minute: number, rows: number][]>;
  /** Resolves when no query sees them any more. */
  delete(step: Pick<Step, 'accountId' | 'day' | 'below' | 'receivedBefore'>): Promise<void>;
  /**
   * Facts by day in Tehran of what was counted from those events: days that lie wholly before
   * `below`.
   */
  deleteDays(accountId: number, below: number): Promise<void>;
}

const BY_DAY = ['event_catalogue', 'ingest_quality'];
const READ: ClickHouseSettings = {
  max_execution_time: 60,
  use_query_cache: 0,
  output_format_json_quote_64bit_integers: 0,
};
/**
 * A lightweight delete marks rows, part by part; the merges take them out later. 2: on all replicas
 * before it is answered.
 */
const DELETE: ClickHouseSettings = { lightweight_deletes_sync: '2', max_execution_time: 600 };

export function retentionWarehouse({
  client,
  cluster,
}: {
  client: ClickHouseClient;
  cluster: string;
}): RetentionWarehouse {
  const where =
    "account_id = {account:UInt64} AND timestamp < fromUnixTimestamp64Milli({below:Int64}, 'UTC') AND received_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC')";
  const params = ({ accountId, below, receivedBefore }: Leaving) => ({
    account: accountId,
    below: Math.floor(below),
    before: Math.floor(receivedBefore),
  });
  const target = (table: string) =>
    cluster === '' ? table : `${table}_local ON CLUSTER '${cluster}'`;
  const ask = async <T>(query: string, query_params: Record<string, unknown>): Promise<T[]> => {
    const clickhouse_settings =
      cluster === '' ? READ : { ...READ, select_sequential_consistency: '1' as const };
    return (
      await client.query({ query, query_params, format: 'JSONCompactEachRow', clickhouse_settings })
    ).json<T>();
  };
  return {
    async days(leaving) {
      const rows = await ask<[string]>(
        `SELECT toDate(timestamp) AS day FROM events WHERE ${where} GROUP BY day ORDER BY day`,
        params(leaving),
      );
      return rows.map(([day]) => day);
    },
    counts: (leaving, day) =>
      ask<[number, number]>(
        `SELECT toUnixTimestamp(toStartOfMinute(received_at)) AS minute, countIf(${KEPT_ROWS}) AS rows FROM events WHERE ${where} AND toDate(timestamp) = {day:Date} GROUP BY minute ORDER BY minute`,
        { ...params(leaving), day },
      ),
    async delete(step) {
      const month = step.day.slice(0, 7).replace('-', '');
      const query = `DELETE FROM ${target('events')} IN PARTITION ${Number(month)} WHERE ${where} AND toDate(timestamp) = {day:Date}`;
      await client.command({
        query,
        query_params: { ...params(step), day: step.day },
        clickhouse_settings: DELETE,
      });
    },
    async deleteDays(accountId, below) {
      const query_params = { account: accountId, day: dayText(tehranDay(below)) };
      for (const table of BY_DAY) {
        const condition = 'account_id = {account:UInt64} AND day < {day:Date}';
        const [found] = await ask<[number]>(
          `SELECT count() FROM ${table} WHERE ${condition}`,
          query_params,
        );
        if (found?.[0])
          await client.command({
            query: `DELETE FROM ${target(table)} WHERE ${condition}`,
            query_params,
            clickhouse_settings: DELETE,
          });
      }
    },
  };
}
