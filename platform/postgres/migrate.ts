import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from './pool.ts';

/**
 * Runs the pending SQL files of a folder (`NNNN_name.sql`) in order, each in one transaction with
 * its row in `schema_migrations`. Concurrent runs are safe: each inserts the row first, and the
 * later one waits for it or finds it. Answers the names of the files that it ran.
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
    // A simple-protocol message is one implicit transaction for the file and its row.
    await database.query(
      `INSERT INTO schema_migrations (name) VALUES ('${file}');\n${readFileSync(join(folder, file), 'utf8')}`,
    );
    ran.push(file);
  }
  return ran;
}
