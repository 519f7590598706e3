import type { ClickHouseClient } from '@clickhouse/client';
import { QUORUM_INSERT } from '../../platform/clickhouse/replicas.ts';
import type { MessageRow } from './rows.ts';

/** Rows that are written again replace themselves. */
export async function insertRows(
  client: Pick<ClickHouseClient, 'insert'>,
  { table, cluster, rows }: { table: string; cluster: string; rows: readonly MessageRow[] },
): Promise<void> {
  if (rows.length === 0) return;
  await client.insert({
    ...{ table, values: rows, format: 'JSONEachRow' },
    clickhouse_settings: { async_insert: 0, ...(cluster === '' ? {} : QUORUM_INSERT) },
  });
}
