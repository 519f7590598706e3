import type { Database } from '../../../platform/postgres/pool.ts';
import { REGISTER_TABLES } from './register-tables.ts';

/** Holds what a rebuild fills, beside the live tables. */
export const SHADOW_SCHEMA = 'addresses_rebuilt';

/** Empty tables with the definitions of the live ones. */
export async function createShadowSchema(database: Pick<Database, 'query'>): Promise<void> {
  await dropShadowSchema(database);
  await database.query(`CREATE SCHEMA ${SHADOW_SCHEMA}`);
  for (const table of [
    'channel_positions',
    'channel_books',
    ...REGISTER_TABLES.map(({ name }) => name),
  ])
    await database.query(
      `CREATE TABLE ${SHADOW_SCHEMA}.${table} (LIKE public.${table} INCLUDING ALL)`,
    );
}

export async function dropShadowSchema(database: Pick<Database, 'query'>): Promise<void> {
  await database.query(`DROP SCHEMA IF EXISTS ${SHADOW_SCHEMA} CASCADE`);
}
