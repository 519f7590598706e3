import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';

/**
 * Inserts into a cluster: acknowledged when a majority of the replicas of each shard has the part.
 * Quorums of concurrent inserts do not exclude each other (`insert_quorum_parallel`): with one at a
 * time ClickHouse refuses every other insert into the table meanwhile, also those of other
 * partitions. A part below its quorum may be on any replica: read back from all of them.
 */
export const QUORUM_INSERT: ClickHouseSettings = {
  distributed_foreground_insert: '1',
  insert_distributed_timeout: '60',
  insert_quorum: 'auto',
  insert_quorum_parallel: 1,
  insert_quorum_timeout: 30_000,
};

/** A replica that does not answer fails the query: its rows are not known. */
export const ALL_REPLICAS: ClickHouseSettings = { skip_unavailable_shards: 0 };

/**
 * What follows FROM to read a table on every replica; each row is found as often as replicas have
 * it. Without a cluster the table itself.
 */
export function onAllReplicas(table: string, cluster: string): string {
  return cluster === ''
    ? table
    : `clusterAllReplicas('${cluster}', currentDatabase(), '${table}_local')`;
}

/** Resolves when every replica has what any replica had. No effect without a cluster. */
export async function syncReplicas(
  client: ClickHouseClient,
  { table, cluster }: { table: string; cluster: string },
): Promise<void> {
  if (cluster === '') return;
  await client.command({ query: `SYSTEM SYNC REPLICA ON CLUSTER '${cluster}' ${table}_local` });
}
