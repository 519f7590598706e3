import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import type { ChunkRecipient } from '../../../schemas/records.ts';
import { frozenTable } from '../freeze/frozen-table.ts';
import { RecipientRows } from './recipient-rows.ts';
import type { SlicePorts } from './write-slice.ts';
import { onAccount } from '../../../platform/clickhouse/shards.ts';

/**
 * In the order of the primary key: ClickHouse merges the parts as it reads them, and holds no more
 * than a block of each. A server that lacks rows, such as a replica that is behind, answers none.
 */
function sliceSql(table: string): string {
  const rows = `FROM ${table} WHERE account_id = {account:UInt64} AND run_id = {run:UInt64} AND attempt = {attempt:UInt32}`;
  return `SELECT key, person_id, user_id, is_control ${rows} AND key > {after:String}
    AND (SELECT count() ${rows}) = {people:UInt64}
    ORDER BY account_id, run_id, attempt, key LIMIT {limit:UInt64} FORMAT RowBinary`;
}

const SLICE_SETTINGS: ClickHouseSettings = {
  optimize_read_in_order: 1,
  max_threads: 2,
  max_block_size: '8192',
  priority: '10',
  low_priority_query_wait_time_ms: '100',
  max_execution_time: 60,
  max_memory_usage: String(256 * 2 ** 20),
  // A failure is an answer of its own, not the end of half an answer.
  wait_end_of_query: 1,
};

/** Reads frozen audiences from ClickHouse. */
export function recipientsReader({
  client,
  cluster,
}: {
  client: ClickHouseClient;
  /** CLICKHOUSE_CLUSTER; empty: one server. */
  cluster: string;
}): SlicePorts['readRecipients'] {
  const query = sliceSql(frozenTable(cluster));
  return async function* ({ accountId, runId, attempt, people, after, limit }, signal) {
    const { stream } = await onAccount(client, accountId).exec({
      query,
      query_params: { account: accountId, run: runId, attempt, people, after, limit },
      abort_signal: signal,
      clickhouse_settings: SLICE_SETTINGS,
    });
    const rows = new RecipientRows();
    for await (const piece of stream) {
      const recipients: ChunkRecipient[] = rows.read(piece as Buffer);
      if (recipients.length > 0) yield recipients;
    }
    rows.end();
  };
}
