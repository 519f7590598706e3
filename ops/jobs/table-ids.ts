import type { ClickHouseClient } from '@clickhouse/client';
import { eachShard } from '../../platform/clickhouse/shards.ts';
import type { Connections } from './connections.ts';

type Servers = Pick<Connections, 'clickhouse' | 'settings'>;

/**
 * UUID of a table (on a cluster: of its local table; on shards: of the table of each, joined): it
 * stays with the rows when EXCHANGE TABLES swaps the names. undefined: a server has no such table.
 */
export async function tableId(
  { clickhouse, settings }: Servers,
  table: string,
): Promise<string | undefined> {
  const name = settings.CLICKHOUSE_CLUSTER === '' ? table : `${table}_local`;
  const ids: string[] = [];
  for (const server of eachShard(clickhouse)) {
    const id = await idOn(server, name);
    if (id === undefined) return undefined;
    ids.push(id);
  }
  return ids.join(',');
}

/**
 * Name of the table with this id, without `_local` on a cluster; undefined: there is none, or
 * shards have it under several names.
 */
export async function tableNamed(
  { clickhouse }: Pick<Connections, 'clickhouse'>,
  id: string,
): Promise<string | undefined> {
  const ids = id.split(',');
  const names = new Set<string | undefined>();
  for (const [at, server] of eachShard(clickhouse).entries()) {
    const answer = await server.query({
      query:
        'SELECT name FROM system.tables WHERE database = currentDatabase() AND toString(uuid) = {id:String}',
      query_params: { id: ids[at] ?? '' },
      format: 'JSONEachRow',
    });
    const [row] = await answer.json<{ name: string }>();
    names.add(row?.name);
  }
  const [name, ...others] = names;
  return others.length === 0 ? name?.replace(/_local$/, '') : undefined;
}

/** Tables that a swap exchanges, as `tableId` names them. */
export interface Exchanged {
  exchanging: string | null;
  former?: string | null;
}

/** How far the exchange of two tables came: shards are exchanged one after the other. */
export function exchangeState(
  live: string | undefined,
  { exchanging, former }: Exchanged,
): 'none' | 'partly' | 'whole' {
  if (live === undefined || !exchanging) return 'none';
  if (live === exchanging) return 'whole';
  const [before, after] = [former?.split(',') ?? [], exchanging.split(',')];
  const ids = live.split(',');
  const isOfSwap = ids.every((id, at) => id === before[at] || id === after[at]);
  return isOfSwap && ids.some((id, at) => id === after[at]) ? 'partly' : 'none';
}

/**
 * Exchanges two tables on every shard where the live one is not `exchanging` yet. A reader of one
 * account sees one table or the other, whole. Repeated, it completes what was interrupted.
 */
export async function exchangeOnShards(
  { clickhouse }: Pick<Connections, 'clickhouse'>,
  tables: { live: string; name: string; exchanging: string },
): Promise<void> {
  const after = tables.exchanging.split(',');
  for (const [at, server] of eachShard(clickhouse).entries())
    if ((await idOn(server, tables.live)) !== after[at])
      await server.command({ query: `EXCHANGE TABLES ${tables.live} AND ${tables.name}` });
}

async function idOn(server: ClickHouseClient, name: string): Promise<string | undefined> {
  const answer = await server.query({
    query:
      'SELECT toString(uuid) AS id FROM system.tables WHERE database = currentDatabase() AND name = {name:String}',
    query_params: { name },
    format: 'JSONEachRow',
  });
  return (await answer.json<{ id: string }>())[0]?.id;
}
