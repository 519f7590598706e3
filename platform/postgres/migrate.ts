import { backoffDelay, delay } from '../backoff.ts';
import { readMigrationFiles, requireUnchanged, type MigrationFile } from '../migration-files.ts';
import type { Database } from './pool.ts';

type Queries = Pick<Database, 'query'>;

/**
 * A statement waits so long for a lock that a service holds, ms. While it waits, every later query
 * on the table waits behind it, so that it gives up and tries again.
 */
const LOCK_MS = 3000;
const ATTEMPTS = 30;
const BACKOFF = { base: 200, cap: 5000, min: 100 };

const LOCK_NOT_AVAILABLE = '55P03';
const DUPLICATE = '23505';
/** A table with its type or its index, created twice at once: whichever catalogue notices first. */
const CREATED_TWICE: ReadonlySet<string> = new Set([DUPLICATE, '42P07', '42710']);

/**
 * Runs the pending SQL files of a folder (`NNNN_name.sql`) in order, each in one transaction with
 * its row in `schema_migrations`, and answers the names of the files that it ran. Concurrent runs
 * are safe: each inserts the row first, and the later one waits and then finds it. Throws
 * MigrationChanged, before any change, when a file is not the one that ran. Waits a bounded time
 * for locks of services; the pool must have no statement timeout.
 */
export async function migratePostgres(database: Queries, folder: string): Promise<string[]> {
  const files = readMigrationFiles(folder).map((file) => ({ ...file, name: file.file }));
  await createLedger(database);
  const ran: string[] = [];
  requireUnchanged(files, await recorded(database), 'PostgreSQL');
  for (const file of files) if (await runPending(database, file)) ran.push(file.file);
  const unknown = files.map(({ file, checksum }) => [file, checksum]);
  await database.query(
    `UPDATE schema_migrations AS m SET checksum = f.checksum
     FROM json_to_recordset($1::json) AS f (name text, checksum text)
     WHERE m.name = f.name AND m.checksum IS NULL`,
    [JSON.stringify(unknown.map(([name, checksum]) => ({ name, checksum })))],
  );
  return ran;
}

async function createLedger(database: Queries): Promise<void> {
  const create = `CREATE TABLE IF NOT EXISTS schema_migrations
    (name text PRIMARY KEY, ran_at timestamptz NOT NULL DEFAULT now());
    ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS checksum text`;
  try {
    await database.query(create);
  } catch (error) {
    // Two runs may create it at the same time: one of them fails on a system catalogue.
    if (!CREATED_TWICE.has(codeOf(error))) throw error;
    await database.query(create);
  }
}

async function recorded(database: Queries): Promise<Map<string, string | undefined>> {
  const { rows } = await database.query<{ name: string; checksum: string | null }>(
    'SELECT name, checksum FROM schema_migrations',
  );
  return new Map(rows.map(({ name, checksum }) => [name, checksum ?? undefined]));
}

/** False when it ran before, here or in another process meanwhile. */
async function runPending(database: Queries, file: MigrationFile): Promise<boolean> {
  const { file: name, sql, checksum } = file;
  for (let attempt = 0; ; attempt++) {
    if ((await recorded(database)).has(name)) return false;
    try {
      // A simple-protocol message is one implicit transaction for the file and its row.
      await database.query(
        `SET LOCAL lock_timeout = ${LOCK_MS}; SET LOCAL statement_timeout = 0;
         INSERT INTO schema_migrations (name, checksum) VALUES ('${name}', '${checksum}');\n${sql}`,
      );
      return true;
    } catch (error) {
      const isConcurrent = isOwnRow(error);
      if (codeOf(error) !== LOCK_NOT_AVAILABLE && !isConcurrent) throw error;
      if (attempt + 1 >= ATTEMPTS)
        throw new Error(
          `${name} got no lock in ${ATTEMPTS} attempts of ${LOCK_MS} ms and changed nothing: end the long transaction that holds it (pg_stat_activity shows it), then run the migrations again`,
          { cause: error },
        );
      await delay(backoffDelay({ ...BACKOFF, attempt, random: Math.random() }));
    }
  }
}

/** Another run inserted the row of the file first. */
function isOwnRow(error: unknown): boolean {
  const { constraint } = error as { constraint?: string };
  return codeOf(error) === DUPLICATE && constraint === 'schema_migrations_pkey';
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? '';
}
