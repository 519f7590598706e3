import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { adaptToCluster } from './cluster.ts';
import { connectClickhouse, type ClickhouseSettings } from './client.ts';
import { requireOneShard } from './one-shard.ts';

interface Migration {
  /** `NNNN_name`; the number is unique across all folders. */
  name: string;
  statements: string[];
}

/** Reads the `NNNN_name.sql` files of several folders, by number. Throws on a duplicate number. */
export function readMigrations(folders: readonly string[]): Migration[] {
  const files = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((file) => /^\d{4}_[a-z0-9_]+\.sql$/.test(file))
      .map((file) => ({ folder, file })),
  );
  files.sort((a, b) => a.file.localeCompare(b.file));
  const numbers = files.map(({ file }) => file.slice(0, 4));
  const twice = numbers.find((number, index) => number === numbers[index + 1]);
  if (twice !== undefined)
    throw new Error(
      `two ClickHouse migrations have the number ${twice}: give the newer one the next free number`,
    );
  return files.map(({ folder, file }) => ({
    name: file.replace(/\.sql$/, ''),
    statements: splitStatements(readFileSync(join(folder, file), 'utf8')),
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
 * idempotent (IF NOT EXISTS): an interrupted migration runs again from its first statement. With
 * CLICKHOUSE_CLUSTER the same files create Replicated tables ON CLUSTER with Distributed tables
 * over them; it rejects with SeveralShards, before any change, when that has more than one shard.
 */
export async function migrateClickhouse(
  settings: ClickhouseSettings,
  folders: readonly string[],
): Promise<string[]> {
  const database = settings.CLICKHOUSE_DATABASE;
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(database))
    throw new Error(`CLICKHOUSE_DATABASE=${database}: expected letters, digits and underscores`);
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
  const client = connectClickhouse({ settings, name: 'ravand-migrate', requestTimeout: 300_000 });
  try {
    const ledger =
      'CREATE TABLE IF NOT EXISTS schema_migrations (name String, ran_at DateTime64(3) DEFAULT now64(3)) ENGINE = MergeTree ORDER BY name';
    for (const statement of adaptToCluster(ledger, settings))
      await client.command({ query: statement });
    const rows = await (
      await client.query({ query: 'SELECT name FROM schema_migrations', format: 'JSONEachRow' })
    ).json<{ name: string }>();
    const done = new Set(rows.map((row) => row.name));
    const ran: string[] = [];
    for (const { name, statements } of readMigrations(folders)) {
      if (done.has(name)) continue;
      for (const statement of statements.flatMap((one) => adaptToCluster(one, settings)))
        await client.command({ query: statement });
      await client.insert({
        table: 'schema_migrations',
        values: [{ name }],
        format: 'JSONEachRow',
        clickhouse_settings: { async_insert: 0 },
      });
      ran.push(name);
    }
    return ran;
  } finally {
    await client.close();
  }
}
