import type { ClickHouseClient } from '@clickhouse/client';
import type { Log } from '../log.ts';
import { retryUntilAborted } from '../retry-until-aborted.ts';
import { requireShardOrder, requireShards, ShardsMisplaced } from './shard-layout.ts';
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
      `CLICKHOUSE_CLUSTER=${cluster} has ${shards} shards: only clusters of one shard are supported. Name a cluster with one shard and as many replicas as you need; for accounts on several servers see docs/operations/shards.md`,
    );
}

/**
 * The same for a service, which may start before ClickHouse: asks until there is an answer. With
 * CLICKHOUSE_SHARDS rejects with ShardsMisplaced unless the servers are the shards that the
 * settings say, for each of its URLs. No effect without a cluster and shards.
 */
export async function watchShards(options: {
  settings: ClickhouseSettings & { CLICKHOUSE_REPORTS_URL?: string };
  log: Log;
  signal: AbortSignal;
}): Promise<void> {
  const { settings, log, signal } = options;
  const ask = (of: ClickhouseSettings) =>
    retryUntilAborted(
      {
        ...{ log, signal, code: 'clickhouse_unreachable', what: 'counting the shards' },
        isFinal: (error) => error instanceof SeveralShards || error instanceof ShardsMisplaced,
      },
      () => requireShape(of),
    );
  for (const url of new Set([settings.CLICKHOUSE_URL, settings.CLICKHOUSE_REPORTS_URL]))
    if (url) await ask({ ...settings, CLICKHOUSE_URL: url });
}

async function requireShape(settings: ClickhouseSettings): Promise<void> {
  if (settings.CLICKHOUSE_SHARDS) {
    await requireShards(settings);
    await requireShardOrder(settings);
    return;
  }
  if (settings.CLICKHOUSE_CLUSTER === '') return;
  const client = connectClickhouse({ settings, name: 'ravand-shards', database: '' });
  try {
    await requireOneShard(client, settings.CLICKHOUSE_CLUSTER);
  } finally {
    await client.close();
  }
}
