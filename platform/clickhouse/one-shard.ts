import type { ClickHouseClient } from '@clickhouse/client';
import type { Log } from '../log.ts';
import { retryUntilAborted } from '../retry-until-aborted.ts';
import { connectClickhouse, type ClickhouseSettings } from './client.ts';

/** The cluster has several shards, on which reports and projections would be wrong. */
export class SeveralShards extends Error {
  override readonly name = 'SeveralShards';
}

/**
 * Rejects with SeveralShards unless the cluster has one shard: tables that collapse or join rows
 * would do so per shard, and answers would be wrong without any error.
 */
export async function requireOneShard(client: ClickHouseClient, cluster: string): Promise<void> {
  const answer = await client.query({
    query: `SELECT toUInt32(uniqExact(shard_num)) AS shards FROM system.clusters WHERE cluster = {cluster:String}`,
    query_params: { cluster },
    format: 'JSONEachRow',
  });
  const [row] = await answer.json<{ shards: number }>();
  const shards = row?.shards ?? 0;
  if (shards > 1)
    throw new SeveralShards(
      `CLICKHOUSE_CLUSTER=${cluster} has ${shards} shards: only clusters of one shard are supported. Name a cluster with one shard and as many replicas as you need`,
    );
}

/**
 * The same for a service, which may start before ClickHouse: asks until there is an answer. No
 * effect without a cluster.
 */
export async function watchOneShard(options: {
  settings: ClickhouseSettings;
  log: Log;
  signal: AbortSignal;
}): Promise<void> {
  const { settings, log, signal } = options;
  if (settings.CLICKHOUSE_CLUSTER === '') return;
  const client = connectClickhouse({ settings, name: 'ravand-shards', database: '' });
  try {
    await retryUntilAborted(
      {
        ...{ log, signal, code: 'clickhouse_unreachable', what: 'counting the shards' },
        isFinal: (error) => error instanceof SeveralShards,
      },
      () => requireOneShard(client, settings.CLICKHOUSE_CLUSTER),
    );
  } finally {
    await client.close();
  }
}
