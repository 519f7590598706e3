import { createClient, type ClickHouseClient } from '@clickhouse/client';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withHosts } from '../../platform/clickhouse/each-host.ts';
import {
  DISTRIBUTED_SETTINGS,
  distributedTable,
  eachShard,
  shardDatabase,
  shardedClient,
} from '../../platform/clickhouse/shards.ts';
import { splitStatements } from '../../platform/clickhouse/migrate.ts';
import type { EventRow } from '../../schemas/records.ts';
import { readyStack } from './stack.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');

export interface TestDatabase {
  /** CLICKHOUSE_DATABASE of a service that shall use it. */
  name: string;
  client: ClickHouseClient;
  insert: (table: string, values: Record<string, unknown>[]) => Promise<void>;
  /** Runs further files of the live schema. */
  migrate: (ddl: readonly string[]) => Promise<void>;
  close: () => Promise<void>;
}

/** Servers that stand in for the stack's, as the shards of a cluster. */
export interface ShardServers {
  /** A URL of each shard. */
  urls: readonly string[];
  /** Name of the cluster on each of them. */
  cluster: string;
}

let shards: ShardServers | undefined;

/** From now on databases of tests are made on these shards. */
export function useShards(servers: ShardServers): void {
  shards = servers;
}

/**
 * A database of its own on the stack's ClickHouse, or on the shards of `useShards`.
 * @param ddl files with the live schema
 * @param tables statements for tables that the test fills in place of views
 */
export async function openTestDatabase(
  name: string,
  { ddl, tables }: { ddl: readonly string[]; tables: readonly string[] },
): Promise<TestDatabase> {
  const database = `${name}_${process.pid}_${Date.now().toString(36)}`;
  const statements = [...statementsOf(ddl), ...tables];
  const { client, drop } = shards
    ? await onShards(shards, { database, statements })
    : await onServer(readyStack().clickhouse_url, { database, statements });
  return {
    name: database,
    client,
    async migrate(files) {
      for (const server of eachShard(client))
        for (const query of statementsOf(files)) await server.command({ query });
    },
    async insert(table, values) {
      if (values.length > 0) await client.insert({ table, values, format: 'JSONEachRow' });
    },
    async close() {
      await client.close();
      await drop();
    },
  };
}

function statementsOf(ddl: readonly string[]): string[] {
  return ddl.flatMap((file) => splitStatements(readFileSync(join(CHECKOUT, file), 'utf8')));
}

const OPTIONS = { request_timeout: 60_000, max_open_connections: 4 };
const SETTINGS = {
  date_time_input_format: 'best_effort',
  output_format_json_quote_64bit_integers: 0,
  async_insert: 0,
  max_threads: 2,
  // Fields that only profiles use are no columns of `events`.
  input_format_skip_unknown_fields: 1,
} as const;

interface Made {
  database: string;
  statements: readonly string[];
}

async function onServer(url: string, { database, statements }: Made) {
  const server = createClient({ url, ...OPTIONS });
  await server.command({ query: `CREATE DATABASE ${database}` });
  const client = createClient({
    ...{ url, ...OPTIONS, database, clickhouse_settings: SETTINGS },
    use_multipart_params_auto: true,
  });
  for (const query of statements) await client.command({ query });
  const drop = async () => {
    await server.command({ query: `DROP DATABASE ${database}` });
    await server.close();
  };
  return { client, drop };
}

async function onShards({ urls, cluster }: ShardServers, { database, statements }: Made) {
  const own = shardDatabase(database);
  const made = await Promise.all(urls.map((url) => onServer(url, { database: own, statements })));
  const servers = made.map(({ client }) => client);
  const names = { CLICKHOUSE_DATABASE: database, CLICKHOUSE_SHARDS: cluster };
  const tables = statements.flatMap(
    (one) => /^CREATE TABLE (?:IF NOT EXISTS )?(\w+)/.exec(one)?.[1] ?? [],
  );
  for (const server of servers) {
    await server.command({ query: `CREATE DATABASE ${database}` });
    for (const table of tables)
      await server.command({ query: `CREATE ${distributedTable(names, { table })}` });
  }
  const distributed = createClient({
    ...{ url: urls[0] ?? '', ...OPTIONS, database, use_multipart_params_auto: true },
    clickhouse_settings: { ...SETTINGS, ...DISTRIBUTED_SETTINGS },
  });
  const client = withHosts(shardedClient(distributed, servers), servers);
  const drop = async () => {
    await Promise.all(made.map((one) => one.drop()));
  };
  return { client, drop };
}

export const isoTime = (ms: number): string => new Date(ms).toISOString();

/** A row of the log as ClickHouse reads it from JSON. */
export function eventColumns(event: EventRow): Record<string, unknown> {
  return {
    ...event,
    timestamp: isoTime(event.timestamp),
    received_at: isoTime(event.received_at),
  };
}
