import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import { retry } from '../backoff.ts';
import { readMigrationFiles, requireUnchanged } from '../migration-files.ts';
import { adaptToCluster } from './cluster.ts';
import { connectClickhouse, type ClickhouseSettings } from './client.ts';
import { migrateShards } from './migrate-shards.ts';
import { requireOneShard } from './one-shard.ts';

interface Migration {
  /** `NNNN_name`; the number is unique across all folders. */
  name: string;
  file: string;
  checksum: string;
  statements: string[];
}

/** Reads the `NNNN_name.sql` files of several folders, by number. Throws on a duplicate number. */
export function readMigrations(folders: readonly string[]): Migration[] {
  const files = folders.flatMap(readMigrationFiles);
  files.sort((a, b) => a.file.localeCompare(b.file));
  const numbers = files.map(({ file }) => file.slice(0, 4));
  const twice = numbers.find((number, index) => number === numbers[index + 1]);
  if (twice !== undefined)
    throw new Error(
      `two ClickHouse migrations have the number ${twice}: give the newer one the next free number`,
    );
  return files.map(({ file, sql, checksum }) => ({
    ...{ file, checksum, name: file.replace(/\.sql$/, '') },
    statements: splitStatements(sql),
  }));
}

/** Statements end with a semicolon at the end of a line; comment lines are dropped. */
export function splitStatements(sql: string): string[] {
  return sql
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('--'))
    .join('\n')
    .split(/;\s*(?:\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/**
 * Creates the database, runs the pending migrations and returns their names. Statements are
 * idempotent (IF NOT EXISTS): an interrupted migration runs again from its first statement, and
 * concurrent runs do no harm. Throws MigrationChanged, before any change, when a file is not the
 * one that ran. With CLICKHOUSE_CLUSTER the same files create Replicated tables ON CLUSTER with
 * Distributed tables over them; it rejects with SeveralShards, before any change, when that has
 * more than one shard. With CLICKHOUSE_SHARDS each shard is migrated as a single server.
 */
export async function migrateClickhouse(
  settings: ClickhouseSettings,
  folders: readonly string[],
): Promise<string[]> {
  requireDatabaseName(settings.CLICKHOUSE_DATABASE);
  return settings.CLICKHOUSE_SHARDS
    ? migrateShards(settings, (shard) => migrateServer(shard, folders))
    : migrateServer(settings, folders);
}

function requireDatabaseName(database: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(database))
    throw new Error(`CLICKHOUSE_DATABASE=${database}: expected letters, digits and underscores`);
}

async function migrateServer(
  settings: ClickhouseSettings,
  folders: readonly string[],
): Promise<string[]> {
  const database = settings.CLICKHOUSE_DATABASE;
  const onCluster =
    settings.CLICKHOUSE_CLUSTER === '' ? '' : ` ON CLUSTER '${settings.CLICKHOUSE_CLUSTER}'`;
  const bare = connectClickhouse({ settings, name: 'ravand-migrate', database: '' });
  try {
    if (settings.CLICKHOUSE_CLUSTER !== '')
      await requireOneShard(bare, settings.CLICKHOUSE_CLUSTER);
    await bare.command({ query: `CREATE DATABASE IF NOT EXISTS ${database}${onCluster}` });
  } finally {
    await bare.close();
  }
  const client = connectClickhouse({
    ...{ settings, name: 'ravand-migrate', requestTimeout: STATEMENT_MS },
  });
  try {
    const migrations = readMigrations(folders);
    const ledger =
      'CREATE TABLE IF NOT EXISTS schema_migrations (name String, ran_at DateTime64(3) DEFAULT now64(3)) ENGINE = MergeTree ORDER BY name';
    const checksums =
      "ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS checksum String DEFAULT ''";
    for (const statement of [ledger, checksums].flatMap((one) => adaptToCluster(one, settings)))
      await execute(client, statement);
    const done = await recorded(client);
    requireUnchanged(migrations, done, 'ClickHouse');
    const ran: string[] = [];
    for (const { name, checksum, statements } of migrations) {
      if (done.get(name) !== undefined) continue;
      if (!done.has(name)) {
        for (const statement of statements.flatMap((one) => adaptToCluster(one, settings)))
          await execute(client, statement);
        ran.push(name);
      }
      // Of what an earlier release ran, only the checksum is missing.
      await client.insert({
        table: 'schema_migrations',
        values: [{ name, checksum }],
        format: 'JSONEachRow',
        clickhouse_settings: { async_insert: 0 },
      });
    }
    return ran;
  } finally {
    await client.close();
  }
}

/** A statement may take this long, ms; its connection shows progress, so that nothing closes it. */
const STATEMENT_MS = 3_600_000;
/** A statement gives up waiting for a lock, or for all servers of a cluster, after this time, s. */
const LOCK_SECONDS = 30;
const CLUSTER_SECONDS = 600;
const STATEMENT_SETTINGS: ClickHouseSettings = {
  max_execution_time: 0,
  send_progress_in_http_headers: 1,
  http_headers_progress_interval_ms: '10000',
  lock_acquire_timeout: LOCK_SECONDS,
  distributed_ddl_task_timeout: String(CLUSTER_SECONDS),
};

const ATTEMPTS = 10;
/** DEADLOCK_AVOIDED (no lock in time), CANNOT_ASSIGN_ALTER (another run alters the same table). */
const BUSY = new Set(['473', '517']);

async function execute(client: ClickHouseClient, query: string): Promise<void> {
  await retry(
    {
      ...{ base: 200, cap: 5000, min: 100, attempts: ATTEMPTS },
      isFinal: (error) => !BUSY.has((error as { code?: string }).code ?? ''),
    },
    () => client.command({ query, clickhouse_settings: STATEMENT_SETTINGS }),
  );
}

/** Checksums of what ran, by name; undefined where an earlier release recorded none. */
async function recorded(client: ClickHouseClient): Promise<Map<string, string | undefined>> {
  const answer = await client.query({
    query: 'SELECT name, max(checksum) AS checksum FROM schema_migrations GROUP BY name',
    format: 'JSONEachRow',
  });
  const rows = await answer.json<{ name: string; checksum: string }>();
  return new Map(rows.map(({ name, checksum }) => [name, checksum || undefined]));
}
