import { syncReplicas } from '../../platform/clickhouse/replicas.ts';
import { onAccount } from '../../platform/clickhouse/shards.ts';
import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import { dayText, tehranDay } from '../../events/tehran-time.ts';
import { KEPT_ROWS } from '../../platform/meters/kept-rows.ts';
import type { Step } from './steps.ts';

/**
 * Expired rows of an account: their timestamp is below `below`, and they were received before
 * `receivedBefore`. Times in ms since the epoch.
 */
interface ExpiredRows {
  accountId: number;
  below: number;
  receivedBefore: number;
}

const BY_DAY = ['event_catalogue', 'ingest_quality'];
/** Tables of messages, with the column that says how old a row is. */
const BY_TIME = [
  ['messages', 'planned_at'],
  ['campaign_recipients', 'frozen_at'],
  ['message_opens', 'opened_by_person_at'],
] as const;
const READ: ClickHouseSettings = {
  max_execution_time: 60,
  use_query_cache: 0,
  output_format_json_quote_64bit_integers: 0,
};
/** Lightweight deletes mark rows, merges remove them. 2 waits for all replicas. */
const DELETE: ClickHouseSettings = { lightweight_deletes_sync: '2', max_execution_time: 600 };

/** Parameters of a statement about one account. */
interface OfAccount extends Record<string, unknown> {
  account: number;
}

/** Finds and deletes expired rows in ClickHouse; every method is idempotent. */
export function retentionRows(client: ClickHouseClient, cluster: string) {
  const where =
    "account_id = {account:UInt64} AND timestamp < fromUnixTimestamp64Milli({below:Int64}, 'UTC') AND received_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC')";
  const params = ({ accountId, below, receivedBefore }: ExpiredRows) => ({
    account: accountId,
    below: Math.floor(below),
    before: Math.floor(receivedBefore),
  });
  const target = (table: string) =>
    cluster === '' ? table : `${table}_local ON CLUSTER '${cluster}'`;
  const select = async <T>(query: string, query_params: OfAccount): Promise<T[]> => {
    const answer = await onAccount(client, query_params.account).query({
      ...{ query, query_params, format: 'JSONCompactEachRow', clickhouse_settings: READ },
    });
    return answer.json<T>();
  };
  const deleteFrom = async (
    table: string,
    { condition, query_params }: { condition: string; query_params: OfAccount },
  ) => {
    const [found] = await select<[number]>(
      `SELECT count() FROM ${table} WHERE ${condition}`,
      query_params,
    );
    if (found?.[0])
      await onAccount(client, query_params.account).command({
        query: `DELETE FROM ${target(table)} WHERE ${condition}`,
        query_params,
        clickhouse_settings: DELETE,
      });
  };
  return {
    /** Days (UTC, YYYY-MM-DD) with expired rows, oldest first. */
    async days(expired: ExpiredRows): Promise<string[]> {
      await syncReplicas(client, { table: 'events', cluster });
      const rows = await select<[string]>(
        `SELECT toDate(timestamp) AS day FROM events WHERE ${where} GROUP BY day ORDER BY day`,
        params(expired),
      );
      return rows.map(([day]) => day);
    },
    /** The expired rows of one day that reconciliation counts as stored, by minute of reception. */
    counts: (expired: ExpiredRows, day: string): Promise<[minute: number, rows: number][]> =>
      select<[number, number]>(
        `SELECT toUnixTimestamp(toStartOfMinute(received_at)) AS minute, countIf(${KEPT_ROWS}) AS rows FROM events WHERE ${where} AND toDate(timestamp) = {day:Date} GROUP BY minute ORDER BY minute`,
        { ...params(expired), day },
      ),
    /** Resolves when no query returns the rows any more. */
    async delete(step: Omit<Step, 'counts'>): Promise<void> {
      const month = step.day.slice(0, 7).replace('-', '');
      const query = `DELETE FROM ${target('events')} IN PARTITION ${Number(month)} WHERE ${where} AND toDate(timestamp) = {day:Date}`;
      await onAccount(client, step.accountId).command({
        query,
        query_params: { ...params(step), day: step.day },
        clickhouse_settings: DELETE,
      });
    },
    /** Deletes the aggregates of days (Tehran) that end before `below`. */
    async deleteDays(accountId: number, below: number): Promise<void> {
      const query_params = { account: accountId, day: dayText(tehranDay(below)) };
      const condition = 'account_id = {account:UInt64} AND day < {day:Date}';
      for (const table of BY_DAY) await deleteFrom(table, { condition, query_params });
    },
    /** Deletes messages that were planned before `below`, ms since the epoch. */
    async deleteMessages(accountId: number, below: number): Promise<void> {
      const query_params = { account: accountId, below: Math.floor(below) };
      for (const [table, column] of BY_TIME) {
        const old = `${column} < fromUnixTimestamp64Milli({below:Int64}, 'UTC')`;
        const condition = `account_id = {account:UInt64} AND ${old}`;
        await deleteFrom(table, { condition, query_params });
      }
    },
  };
}

export type RetentionRows = ReturnType<typeof retentionRows>;
