import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from './pool.ts';

/**
 * Runs the ordered SQL files of a folder (`NNNN_name.sql`) that have not run yet, each in one
 * transaction with its record in `schema_migrations`. Two runs at once are safe: the record is
 * inserted first, and the later one waits for it or finds it. Answers the names that ran.
 */
export async function migratePostgres(database: Database, folder: string): Promise<string[]> {
  await database.query(
    'CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY, ran_at timestamptz NOT NULL DEFAULT now())',
  );
  const done = new Set(
    (await database.query<{ name: string }>('SELECT name FROM schema_migrations')).rows.map(
      (row) => row.name,
    ),
  );
  const ran: string[] = [];
  const files = readdirSync(folder).filter((file) => /^\d{4}_[a-z0-9_]+\.sql$/.test(file));
  for (const file of files.sort()) {
    if (done.has(file)) continue;
    // One simple-protocol message is one implicit transaction: all of the file and its record, or
    // nothing.
    await database.query(
      `INSERT INTO schema_migrations (name) VALUES ('${file}');\n${readFileSync(join(folder, file), 'utf8')}`,
    );
    ran.push(file);
  }
  return ran;
}
