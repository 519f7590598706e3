import type { ClickHouseClient } from '@clickhouse/client';
import type { ClickhouseSettings } from '../../platform/clickhouse/client.ts';
import type { Connections } from './connections.ts';

/**
 * The statements that create a shadow table with the definition of the live one. `created` is the
 * create_table_query of the live table (on a cluster: of the local table, then of the Distributed
 * one). On a cluster the Replicated path gets the new name too.
 */
export function shadowTableStatements(options: {
  created: readonly string[];
  table: string;
  suffix: string;
  cluster: string;
}): string[] {
  const { created, table, suffix, cluster } = options;
  const onCluster = cluster === '' ? '' : ` ON CLUSTER '${cluster}'`;
  return created.map((statement) => {
    const named = statement
      .replace(/^CREATE TABLE (\w+\.)?(\w+)/, (_, database: string | undefined, name: string) => {
        const local = name.endsWith('_local') ? '_local' : '';
        return `CREATE TABLE IF NOT EXISTS ${database ?? ''}${table}_${suffix}${local}${onCluster}`;
      })
      .replace(`'${table}_local'`, `'${table}_${suffix}_local'`);
    return named.replace(
      new RegExp(`(Replicated\\w*MergeTree\\('[^']*/)${table}'`),
      `$1${table}_${suffix}'`,
    );
  });
}

interface ShadowTable {
  client: ClickHouseClient;
  settings: Pick<ClickhouseSettings, 'CLICKHOUSE_CLUSTER' | 'CLICKHOUSE_DATABASE'>;
  table: string;
  suffix: string;
}

/** Creates `<table>_<suffix>` with the definition of the live table, unless it exists. */
export async function createShadowTable({
  client,
  settings,
  table,
  suffix,
}: ShadowTable): Promise<void> {
  const cluster = settings.CLICKHOUSE_CLUSTER;
  const created: string[] = [];
  for (const name of cluster === '' ? [table] : [`${table}_local`, table]) {
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
  for (const query of shadowTableStatements({ created, table, suffix, cluster }))
    await client.command({ query });
}

/** Drops `<table>_<suffix>` with its rows. */
export async function dropShadowTable({
  client,
  settings,
  table,
  suffix,
}: ShadowTable): Promise<void> {
  const cluster = settings.CLICKHOUSE_CLUSTER;
  const names =
    cluster === '' ? [`${table}_${suffix}`] : [`${table}_${suffix}`, `${table}_${suffix}_local`];
  for (const name of names)
    await client.command({
      query: `DROP TABLE IF EXISTS ${name}${cluster === '' ? '' : ` ON CLUSTER '${cluster}'`} SYNC`,
    });
}

/**
 * UUID of a table (on a cluster: of its local table): it stays with the rows when EXCHANGE TABLES
 * swaps the names. undefined: there is no such table.
 */
export async function tableId(
  { clickhouse, settings }: Pick<Connections, 'clickhouse' | 'settings'>,
  table: string,
): Promise<string | undefined> {
  const answer = await clickhouse.query({
    query:
      'SELECT toString(uuid) AS id FROM system.tables WHERE database = {database:String} AND name = {name:String}',
    query_params: {
      database: settings.CLICKHOUSE_DATABASE,
      name: settings.CLICKHOUSE_CLUSTER === '' ? table : `${table}_local`,
    },
    format: 'JSONEachRow',
  });
  return (await answer.json<{ id: string }>())[0]?.id;
}
