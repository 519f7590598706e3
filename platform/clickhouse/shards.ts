import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';

/**
 * Shards: an account lies on one of several servers, whole. What one server answers for its tables,
 * the server of an account answers for the account, with the same SQL: every join and every FINAL
 * is local. Distributed tables split inserts by account and read across accounts; they refuse joins
 * (docs/operations/shards.md).
 */

/** Where an account lies, from 0: the shard that the sharding key of Distributed tables names. */
export function shardOf(accountId: number, shards: number): number {
  return accountId % shards;
}

/** The expression by which Distributed tables choose a shard of weight 1. */
export const SHARDING_KEY = 'account_id';

/** The database that holds a shard's own tables, under the names that they have on one server. */
export function shardDatabase(database: string): string {
  return `${database}_shard`;
}

/** The rest of CREATE …: a Distributed table over the tables of a name on all shards. */
export function distributedTable(
  settings: {
    readonly CLICKHOUSE_DATABASE: string;
    readonly CLICKHOUSE_SHARDS: string;
  },
  { table, key = SHARDING_KEY }: { table: string; key?: string },
): string {
  const { CLICKHOUSE_DATABASE: database, CLICKHOUSE_SHARDS: cluster } = settings;
  const own = shardDatabase(database);
  const engine = `Distributed('${cluster}', '${own}', '${table}', ${key})`;
  return `TABLE ${database}.${table} AS ${own}.${table} ENGINE = ${engine}`;
}

/** Settings of statements over Distributed tables. */
export const DISTRIBUTED_SETTINGS: ClickHouseSettings = {
  // An insert is acknowledged when every shard has its rows.
  distributed_foreground_insert: '1',
  insert_distributed_timeout: '60',
  // A shard that does not answer fails the query: its rows are not known.
  skip_unavailable_shards: 0,
  // A statement of one account asks its shard only.
  optimize_skip_unused_shards: 1,
  // A join that names no account would be wrong or slow: it fails.
  distributed_product_mode: 'deny',
};

const ACCOUNT = Symbol('account');
const SHARDS = Symbol('shards');

interface Routed {
  [ACCOUNT]?: number;
}

type Sharded = ClickHouseClient & { [SHARDS]?: readonly ClickHouseClient[] };

/** What runs statements; a client wrapped by killOnAbort or limitedClient keeps its shards. */
const ROUTED = ['query', 'command', 'exec', 'insert'] as const;

/**
 * One client of several servers: statements of onAccount() go to the shard of the account, all
 * others to the Distributed tables. Closing it closes `distributed` only.
 */
export function shardedClient(
  distributed: ClickHouseClient,
  shards: readonly ClickHouseClient[],
): ClickHouseClient {
  const run = (method: (typeof ROUTED)[number]) => (given: Routed & object) => {
    const { [ACCOUNT]: account, ...params } = given;
    const client = account === undefined ? distributed : shards[shardOf(account, shards.length)];
    return (client?.[method] as (params: object) => Promise<unknown>).call(client, params);
  };
  return Object.assign(Object.create(distributed) as ClickHouseClient, {
    ...Object.fromEntries(ROUTED.map((method) => [method, run(method)])),
    [SHARDS]: shards,
  });
}

/**
 * The same client for statements of one account, in the database of its shard: required for a join,
 * a view, and what changes a table. Without shards the client itself.
 */
export function onAccount<Client extends Pick<ClickHouseClient, 'query'>>(
  client: Client,
  accountId: number,
): Client {
  if (!isSharded(client)) return client;
  const methods = client as unknown as Record<string, ((params: object) => unknown) | undefined>;
  const routed = ROUTED.filter((method) => methods[method] !== undefined).map((method) => [
    method,
    (params: object) => methods[method]?.call(client, { ...params, [ACCOUNT]: accountId }),
  ]);
  const own = Object.fromEntries(routed) as Partial<Client>;
  return Object.assign(Object.create(client) as Client, own);
}

/**
 * A client of each shard, in the database of its own tables; without shards the client itself. What
 * it runs is neither limited nor killed by wrappers of the client.
 */
export function eachShard(client: Pick<ClickHouseClient, 'query'>): readonly ClickHouseClient[] {
  return (client as Sharded)[SHARDS] ?? [client as ClickHouseClient];
}

export function isSharded(client: Pick<ClickHouseClient, 'query'>): boolean {
  return (client as Sharded)[SHARDS] !== undefined;
}
