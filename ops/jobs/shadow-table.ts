import type { ClickHouseClient } from '@clickhouse/client';
import type { ClickhouseSettings } from '../../platform/clickhouse/client.ts';
import {
  distributedTable,
  eachShard,
  isSharded,
  shardDatabase,
} from '../../platform/clickhouse/shards.ts';

/**
 * The statements that create a shadow table with the definition of the live one. `created` is the
 * create_table_query of the live table (on a cluster: of the local table, then of the Distributed
 * one). On a cluster the Replicated path gets the new name and `path`: a table keeps its path when
 * it is renamed or exchanged, so the name alone could be in use.
 */
export function shadowTableStatements(options: {
  created: readonly string[];
  table: string;
  suffix: string;
  cluster: string;
  path: string;
}): string[] {
  const { created, table, suffix, cluster, path } = options;
  const onCluster = cluster === '' ? '' : ` ON CLUSTER '${cluster}'`;
  return created.map((statement) => {
    const named = statement
      .replace(/^CREATE TABLE (\w+\.)?(\w+)/, (_, database: string | undefined, name: string) => {
        const local = name.endsWith('_local') ? '_local' : '';
        return `CREATE TABLE IF NOT EXISTS ${database ?? ''}${table}_${suffix}${local}${onCluster}`;
      })
      .replace(new RegExp(`'${table}_(?:\\w+_)?local'`), `'${table}_${suffix}_local'`);
    return named.replace(
      /(Replicated\w*MergeTree\('[^']*\/)[^'/]+'/,
      `$1${table}_${suffix}_${path}'`,
    );
  });
}

interface ShadowTable {
  client: ClickHouseClient;
  settings: Pick<
    ClickhouseSettings,
    'CLICKHOUSE_CLUSTER' | 'CLICKHOUSE_DATABASE' | 'CLICKHOUSE_SHARDS'
  >;
  table: string;
  suffix: string;
}

/** The shadow table of each shard, as of a single server; without shards the table itself. */
function onShards(shadow: ShadowTable): ShadowTable[] {
  const { client, settings } = shadow;
  if (!isSharded(client)) return [shadow];
  const own = {
    ...{ CLICKHOUSE_DATABASE: shardDatabase(settings.CLICKHOUSE_DATABASE) },
    ...{ CLICKHOUSE_CLUSTER: '', CLICKHOUSE_SHARDS: '' },
  };
  return eachShard(client).map((one) => ({ ...shadow, client: one, settings: own }));
}

/** Makes `<table>_<suffix>` over the tables of the shards, on every host. */
async function distribute({ client, settings, table, suffix }: ShadowTable): Promise<void> {
  if (!isSharded(client)) return;
  const statement = distributedTable(settings, { table: `${table}_${suffix}` });
  for (const host of eachShard(client))
    await host.command({ query: `CREATE OR REPLACE ${statement}` });
}

async function dropDistributed({ client, settings, table, suffix }: ShadowTable): Promise<void> {
  if (!isSharded(client)) return;
  const name = `${settings.CLICKHOUSE_DATABASE}.${table}_${suffix}`;
  for (const host of eachShard(client))
    await host.command({ query: `DROP TABLE IF EXISTS ${name} SYNC` });
}

/** Creates `<table>_<suffix>` with the definition of the live table, unless it exists. */
export async function createShadowTable(shadow: ShadowTable): Promise<void> {
  for (const one of onShards(shadow)) await createOne(one);
  await distribute(shadow);
}

async function createOne({ client, settings, table, suffix }: ShadowTable): Promise<void> {
  const cluster = settings.CLICKHOUSE_CLUSTER;
  const names = cluster === '' ? [table] : [`${table}_local`, table];
  const created = await createdAs({ client, settings }, names);
  const path = Date.now().toString(36);
  for (const query of shadowTableStatements({ created, table, suffix, cluster, path }))
    await client.command({ query });
}

/** Renames `<table>_<suffix>` to `<table>_<to>`. */
export async function renameShadowTable(shadow: ShadowTable, to: string): Promise<void> {
  for (const one of onShards(shadow)) await renameOne(one, to);
  await distribute({ ...shadow, suffix: to });
  await dropDistributed(shadow);
}

async function renameOne(
  { client, settings, table, suffix }: ShadowTable,
  to: string,
): Promise<void> {
  const cluster = settings.CLICKHOUSE_CLUSTER;
  const [name, renamed] = [`${table}_${suffix}`, `${table}_${to}`];
  if (cluster === '') {
    // On a shard an earlier command may have done it.
    await client.command({ query: `RENAME TABLE IF EXISTS ${name} TO ${renamed}` });
    return;
  }
  const on = `ON CLUSTER '${cluster}'`;
  await client.command({ query: `RENAME TABLE ${name}_local TO ${renamed}_local ${on}` });
  const [created] = await createdAs({ client, settings }, [table]);
  const path = '';
  for (const query of shadowTableStatements({
    ...{ created: created ? [created] : [], table, suffix: to, cluster, path },
  }))
    await client.command({ query });
  await client.command({ query: `DROP TABLE IF EXISTS ${name} ${on} SYNC` });
}

async function createdAs(
  { client, settings }: Pick<ShadowTable, 'client' | 'settings'>,
  names: readonly string[],
): Promise<string[]> {
  const created: string[] = [];
  for (const name of names) {
    const answer = await client.query({
      query:
        'SELECT create_table_query AS q FROM system.tables WHERE database = {database:String} AND name = {name:String}',
      query_params: { database: settings.CLICKHOUSE_DATABASE, name },
      format: 'JSONEachRow',
    });
    const [row] = await answer.json<{ q: string }>();
    if (!row) throw new Error(`ClickHouse has no table ${name}: start the stack with ./ravand up`);
    created.push(row.q);
  }
  return created;
}

/** Drops `<table>_<suffix>` with its rows. */
export async function dropShadowTable(shadow: ShadowTable): Promise<void> {
  await dropDistributed(shadow);
  for (const one of onShards(shadow)) await dropOne(one);
}

async function dropOne({ client, settings, table, suffix }: ShadowTable): Promise<void> {
  const cluster = settings.CLICKHOUSE_CLUSTER;
  const names =
    cluster === '' ? [`${table}_${suffix}`] : [`${table}_${suffix}`, `${table}_${suffix}_local`];
  for (const name of names)
    await client.command({
      query: `DROP TABLE IF EXISTS ${name}${cluster === '' ? '' : ` ON CLUSTER '${cluster}'`} SYNC`,
    });
}
