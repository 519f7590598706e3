import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../../../platform/postgres/pool.ts';
import { emptyEngine } from '../../../platform/postgres/testing/empty-engine.ts';

const MIGRATIONS = '../../../deploy/migrations/postgres';

export interface AddressDatabase extends Pick<Database, 'query'> {
  rows<Column extends string>(sql: string): Promise<Record<Column, string>[]>;
  close(): Promise<void>;
}

/** The tables of addresses, and of identities, in an embedded PostgreSQL of their own. */
export async function addressDatabase(): Promise<AddressDatabase> {
  const database = await emptyEngine();
  for (const name of ['0004_identities', '0050_channels', '0056_person_channels'])
    await database.exec(readFileSync(join(import.meta.dirname, MIGRATIONS, `${name}.sql`), 'utf8'));
  return {
    query: database.query.bind(database) as unknown as Database['query'],
    rows: async (sql) => (await database.query<Record<string, string>>(sql)).rows,
    close: () => database.close(),
  };
}
