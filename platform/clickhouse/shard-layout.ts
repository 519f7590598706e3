import type { ClickHouseClient } from '@clickhouse/client';
import { splitHosts } from '../split-hosts.ts';
import { connectClickhouse, type ClickhouseSettings } from './client.ts';
import { shardDatabase } from './shards.ts';

/** The servers are not the shards that the settings say, in their order: answers would be wrong. */
export class ShardsMisplaced extends Error {
  override readonly name = 'ShardsMisplaced';
}

/** In the database of each shard: which one of how many it is. Written once, never changed. */
export const LAYOUT_TABLE = 'shard_layout';

/** A busy server may take so long to make a table or to list its columns, ms. */
const STATEMENT_MS = 300_000;

/** The settings of each shard as of a single server. */
export function shardSettings(settings: ClickhouseSettings): ClickhouseSettings[] {
  return splitHosts(settings.CLICKHOUSE_URL).map((url) => ({
    ...settings,
    CLICKHOUSE_URL: url,
    CLICKHOUSE_DATABASE: shardDatabase(settings.CLICKHOUSE_DATABASE),
    CLICKHOUSE_SHARDS: '',
  }));
}

/** Runs `work` with a client of each host, without a database, one after the other. */
export async function withEachHost(
  settings: ClickhouseSettings,
  work: (client: ClickHouseClient, host: { at: number; url: string }) => Promise<void>,
): Promise<void> {
  for (const [at, own] of shardSettings(settings).entries()) {
    const client = connectClickhouse({
      ...{ settings: own, name: 'ravand-shards', database: '', requestTimeout: STATEMENT_MS },
    });
    try {
      await work(client, { at, url: hostOf(own.CLICKHOUSE_URL) });
    } finally {
      await client.close();
    }
  }
}

/** Host and port without the password. */
const hostOf = (url: string) => new URL(url).host;

/**
 * Rejects with ShardsMisplaced unless every host knows the cluster with as many shards of one
 * server and of the same weight, and is the shard that an earlier migration made it.
 */
export async function requireShards(settings: ClickhouseSettings): Promise<void> {
  const shards = shardSettings(settings).length;
  await withEachHost(settings, async (client, { at, url }) => {
    const found = await clusterOf(client, settings.CLICKHOUSE_SHARDS);
    if (found.length === 0)
      throw new ShardsMisplaced(
        `${url} knows no cluster CLICKHOUSE_SHARDS=${settings.CLICKHOUSE_SHARDS}: define it in remote_servers of every server`,
      );
    if (
      found.length !== shards ||
      found.some(({ replicas, weight }) => replicas !== 1 || weight !== 1)
    )
      throw new ShardsMisplaced(
        `the cluster ${settings.CLICKHOUSE_SHARDS} of ${url} has ${found.map(({ replicas, weight }) => `${replicas} servers of weight ${weight}`).join(', ')}: CLICKHOUSE_URL names ${shards} hosts, each of which has to be a shard of one server and weight 1`,
      );
    const layout = await layoutOf(client, shardDatabase(settings.CLICKHOUSE_DATABASE));
    if (layout.some((one) => one.shard !== at + 1 || one.shards !== shards))
      throw new ShardsMisplaced(
        `${url} is shard ${layout.map((one) => `${one.shard} of ${one.shards}`).join(', ')}, and CLICKHOUSE_URL names it as ${at + 1} of ${shards}: name the hosts in the order and number of the first migration`,
      );
  });
}

/**
 * Rejects with ShardsMisplaced unless the Distributed tables of every host find each shard where
 * accounts are looked for. Rejects with ClickHouse's error before the first migration.
 */
export async function requireShardOrder(settings: ClickhouseSettings): Promise<void> {
  await withEachHost(settings, async (client, { url }) => {
    const answer = await client.query({
      query: `SELECT toUInt32(_shard_num) AS number, shard FROM ${settings.CLICKHOUSE_DATABASE}.${LAYOUT_TABLE}`,
      format: 'JSONEachRow',
      clickhouse_settings: { skip_unavailable_shards: 0 },
    });
    const wrong = (await answer.json<{ number: number; shard: number }>()).find(
      ({ number, shard }) => number !== shard,
    );
    if (wrong)
      throw new ShardsMisplaced(
        `shard ${wrong.number} of the cluster ${settings.CLICKHOUSE_SHARDS} of ${url} is the server that CLICKHOUSE_URL names as ${wrong.shard}: list the shards in the order of CLICKHOUSE_URL`,
      );
  });
}

interface ClusterShard {
  replicas: number;
  weight: number;
}

async function clusterOf(client: ClickHouseClient, cluster: string): Promise<ClusterShard[]> {
  const answer = await client.query({
    query: `SELECT toUInt32(count()) AS replicas, toUInt32(any(shard_weight)) AS weight FROM system.clusters WHERE cluster = {cluster:String} GROUP BY shard_num`,
    query_params: { cluster },
    format: 'JSONEachRow',
  });
  return answer.json<ClusterShard>();
}

async function layoutOf(
  client: ClickHouseClient,
  database: string,
): Promise<{ shard: number; shards: number }[]> {
  const there = await client.query({
    query:
      'SELECT 1 AS one FROM system.tables WHERE database = {database:String} AND name = {table:String}',
    query_params: { database, table: LAYOUT_TABLE },
    format: 'JSONEachRow',
  });
  if ((await there.json()).length === 0) return [];
  const answer = await client.query({
    query: `SELECT DISTINCT shard, shards FROM ${database}.${LAYOUT_TABLE}`,
    format: 'JSONEachRow',
  });
  return answer.json<{ shard: number; shards: number }>();
}
