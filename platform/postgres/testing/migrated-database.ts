import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../pool.ts';
import { emptyEngine } from './empty-engine.ts';

const MIGRATIONS = join(import.meta.dirname, '../../../deploy/migrations/postgres');

export interface MigratedDatabase {
  database: Pick<Database, 'query'>;
  close: () => Promise<void>;
}

/**
 * A PostgreSQL in this process, with the part of a pool that stores use, after the migrations with
 * these numbers.
 */
export async function migratedDatabase(numbers: readonly string[]): Promise<MigratedDatabase> {
  const engine = await emptyEngine();
  const files = readdirSync(MIGRATIONS).filter((file) => numbers.includes(file.slice(0, 4)));
  for (const file of files.sort()) await engine.exec(readFileSync(join(MIGRATIONS, file), 'utf8'));
  const query = async (text: string, values?: unknown[]) => {
    const { rows, affectedRows } = await engine.query(text, values);
    return { rows, rowCount: affectedRows ?? rows.length };
  };
  return {
    database: { query } as unknown as Pick<Database, 'query'>,
    close: () => engine.close(),
  };
}
