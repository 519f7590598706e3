import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../../platform/postgres/pool.ts';
import { emptyEngine } from '../../../platform/postgres/testing/empty-engine.ts';

const MIGRATIONS = join(import.meta.dirname, '../../../deploy/migrations/postgres');

export interface BooksDatabase {
  database: Pick<Database, 'query'>;
  /** Runs the migrations with a number from `from` up to and with `to`. */
  migrate(from: string, to: string): Promise<void>;
  close(): Promise<void>;
}

/** An empty PostgreSQL in this process, with the part of a pool that metering uses. */
export async function openBooksDatabase(): Promise<BooksDatabase> {
  const engine = await emptyEngine();
  const query = async (text: string, values?: unknown[]) => {
    const { rows, affectedRows } = await engine.query(text, values);
    return { rows, rowCount: affectedRows ?? rows.length };
  };
  return {
    database: { query } as unknown as Pick<Database, 'query'>,
    async migrate(from, to) {
      const files = readdirSync(MIGRATIONS).filter(
        (file) => file.slice(0, 4) >= from && file.slice(0, 4) <= to,
      );
      // As migratePostgres does: one message, one transaction for each file.
      for (const file of files.sort())
        await engine.exec(`SELECT 1;\n${readFileSync(join(MIGRATIONS, file), 'utf8')}`);
    },
    close: () => engine.close(),
  };
}
