import type { ClickHouseClient } from '@clickhouse/client';
import { keptFrom, type Retentions } from '../../events/retention.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { EventRow } from '../../schemas/records.ts';
import { onAccount } from '../../platform/clickhouse/shards.ts';

/** Rows with an earlier timestamp that were received before this are deleted and booked, ms. */
interface Limit {
  below: number;
  receivedBefore: number;
}

/** What retention has deleted, by account. */
export type RetentionLimits = ReadonlyMap<number, readonly Limit[]>;

const READ = `SELECT account_id, extract(epoch FROM below)::float8 * 1000 AS below, extract(epoch FROM received_before)::float8 * 1000 AS "receivedBefore"
  FROM retention_limits WHERE closed_at >= $1`;

/** The limits that retention has reached since `since` (ms since the epoch). */
export async function readRetentionLimits(
  database: Pick<Database, 'query'>,
  since = 0,
): Promise<RetentionLimits> {
  const { rows } = await database.query<Limit & { account_id: string }>(READ, [new Date(since)]);
  return Map.groupBy(rows, ({ account_id }) => Number(account_id));
}

/**
 * Whether a rebuilt table holds the row: retention has not deleted and booked it. A row that
 * expired since is deleted and booked by the next run of retention, as in the live table.
 */
export function keptBy(
  limits: RetentionLimits,
  { retentions, now }: { retentions: Retentions; now: number },
): (row: Pick<EventRow, 'account_id' | 'timestamp' | 'received_at'>) => boolean {
  const everyone = keptFrom(new Map(), 0, now);
  return ({ account_id: account, timestamp, received_at: receivedAt }) => {
    if (timestamp < everyone) return false;
    const own = limits.get(account);
    // Retention of an earlier release recorded no limits.
    if (!own) return timestamp >= keptFrom(retentions, account, now);
    return !own.some((one) => timestamp < one.below && receivedAt < one.receivedBefore);
  };
}

/**
 * Deletes from a rebuilt table of events what retention has deleted from the live one since `since`
 * and booked: it would be booked again. Resolves with the number of accounts.
 */
export async function deleteBookedRows(options: {
  client: ClickHouseClient;
  database: Pick<Database, 'query'>;
  cluster: string;
  table: string;
  since: number;
}): Promise<number> {
  const { client, database, cluster, table, since } = options;
  const limits = await readRetentionLimits(database, since);
  const target = cluster === '' ? table : `${table}_local ON CLUSTER '${cluster}'`;
  for (const [account, own] of limits)
    for (const { below, receivedBefore } of own)
      await onAccount(client, account).command({
        query: `DELETE FROM ${target} WHERE account_id = {account:UInt64} AND timestamp < fromUnixTimestamp64Milli({below:Int64}, 'UTC') AND received_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC')`,
        query_params: { account, below: Math.floor(below), before: Math.floor(receivedBefore) },
        clickhouse_settings: { lightweight_deletes_sync: '2', max_execution_time: 600 },
      });
  return limits.size;
}

/** Whether a run of retention is under way: it books each day of an account after deleting it. */
export async function retentionRuns(database: Pick<Database, 'query'>): Promise<boolean> {
  const { rows } = await database.query(
    `SELECT 1 FROM retention_steps UNION ALL
     SELECT 1 FROM retention_runs WHERE finished_at IS NULL AND started_at > now() - interval '1 day' LIMIT 1`,
  );
  return rows.length > 0;
}
