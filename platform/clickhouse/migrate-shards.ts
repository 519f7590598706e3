import type { ClickHouseClient } from '@clickhouse/client';
import type { ClickhouseSettings } from './client.ts';
import {
  LAYOUT_TABLE,
  requireShardOrder,
  requireShards,
  ShardsMisplaced,
  shardSettings,
  withEachHost,
} from './shard-layout.ts';
import { distributedTable, shardDatabase, SHARDING_KEY } from './shards.ts';

/**
 * Migrates every shard as a single server, in a database of its own tables, then makes the
 * Distributed tables on every host. Statements go to the hosts themselves, without ON CLUSTER.
 * An interrupted run is repeated. Rejects with ShardsMisplaced before any change.
 * @param migrate runs the migrations of one server and resolves with the names of those that ran
 */
export async function migrateShards(
  settings: ClickhouseSettings,
  migrate: (shard: ClickhouseSettings) => Promise<string[]>,
): Promise<string[]> {
  await requireShards(settings);
  await withEachHost(settings, (client, { url }) => refuseOwnTables(client, settings, url));
  const shards = shardSettings(settings);
  const own = shardDatabase(settings.CLICKHOUSE_DATABASE);
  await withEachHost(settings, async (client, { at }) => {
    for (const query of layoutStatements(own, { shard: at + 1, shards: shards.length }))
      await client.command({ query });
  });
  const ran = new Set<string>();
  for (const shard of shards) for (const name of await migrate(shard)) ran.add(name);
  await withEachHost(settings, (client) => distributeTables(client, settings));
  await requireShardOrder(settings);
  return [...ran];
}

/** A server that was none of several has its rows under the names of the Distributed tables. */
async function refuseOwnTables(
  client: ClickHouseClient,
  { CLICKHOUSE_DATABASE: database }: ClickhouseSettings,
  url: string,
): Promise<void> {
  const answer = await client.query({
    query: `SELECT name FROM system.tables WHERE database = {database:String} AND engine != 'Distributed' LIMIT 1`,
    query_params: { database },
    format: 'JSONEachRow',
  });
  const [found] = await answer.json<{ name: string }>();
  if (found)
    throw new ShardsMisplaced(
      `${url} has the table ${database}.${found.name} of an installation without shards: its rows do not move to shards. Use other servers or another CLICKHOUSE_DATABASE, and replay the log into them`,
    );
}

function layoutStatements(database: string, layout: { shard: number; shards: number }): string[] {
  return [
    `CREATE DATABASE IF NOT EXISTS ${database}`,
    `CREATE TABLE IF NOT EXISTS ${database}.${LAYOUT_TABLE} (shard UInt32, shards UInt32) ENGINE = MergeTree ORDER BY shard`,
    `INSERT INTO ${database}.${LAYOUT_TABLE} SELECT ${layout.shard}, ${layout.shards} WHERE (SELECT count() FROM ${database}.${LAYOUT_TABLE}) = 0`,
  ];
}

/** Makes the Distributed tables that a host lacks, and makes those again whose columns changed. */
async function distributeTables(
  client: ClickHouseClient,
  settings: ClickhouseSettings,
): Promise<void> {
  const database = settings.CLICKHOUSE_DATABASE;
  const own = shardDatabase(database);
  await client.command({ query: `CREATE DATABASE IF NOT EXISTS ${database}` });
  for (const table of await tablesToDistribute(client, { database, own })) {
    const key = table === LAYOUT_TABLE ? { key: 'shard' } : {};
    const statement = distributedTable(settings, { table, ...key });
    await client.command({ query: `CREATE OR REPLACE ${statement}` });
  }
}

/** Tables with rows of accounts whose Distributed table is not there or has other columns. */
async function tablesToDistribute(
  client: ClickHouseClient,
  databases: { database: string; own: string },
): Promise<string[]> {
  const columns = `groupArray((name, type, default_kind, default_expression))`;
  const of = (database: string) =>
    `SELECT table, ${columns} AS columns FROM (SELECT * FROM system.columns WHERE database = {${database}:String} ORDER BY table, position) GROUP BY table`;
  const answer = await client.query({
    query: `SELECT own.table AS table FROM (${of('own')}) AS own LEFT JOIN (${of('database')}) AS made ON own.table = made.table
      WHERE own.columns != made.columns
        AND own.table IN (SELECT name FROM system.tables WHERE database = {own:String} AND engine LIKE '%MergeTree')
        AND (own.table = {layout:String} OR arrayExists(c -> c.1 = {key:String}, own.columns)) ORDER BY table`,
    query_params: { ...databases, layout: LAYOUT_TABLE, key: SHARDING_KEY },
    format: 'JSONEachRow',
  });
  return (await answer.json<{ table: string }>()).map(({ table }) => table);
}
