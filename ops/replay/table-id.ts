import type { Connections } from './connections.ts';

/**
 * UUID of a table, of its local part on a cluster: it stays with the rows when tables exchange
 * their names. Undefined when there is no such table.
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
