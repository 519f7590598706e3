import type { Database } from '../../../platform/postgres/pool.ts';
import { LIVE_SCHEMA } from '../../../projections/addresses/write-batch.ts';
import { movedOn } from './compare-registers.ts';
import { REGISTER_TABLES, type RegisterTable } from './register-tables.ts';
import { SHADOW_SCHEMA } from './shadow-schema.ts';

/**
 * Makes the rows that differ those of the shadow tables, one statement a table. Rows that moved on
 * stay. The service that writes the tables must be stopped. Resolves with the number of rows.
 */
export async function repairRegisters(database: Pick<Database, 'query'>): Promise<number> {
  let changed = 0;
  for (const table of REGISTER_TABLES) {
    const { rows } = await database.query<{ changed: number }>(statement(table));
    changed += rows[0]?.changed ?? 0;
  }
  return changed;
}

function statement(table: RegisterTable): string {
  const { name, key, values, more } = table;
  const columns = [...key, ...values, ...more];
  const others = [...values, ...more];
  const isSameKey = key.map((column) => `l.${column} = r.${column}`).join(' AND ');
  const compared = name === 'consent_log' ? others : values;
  const isSame = compared.map((column) => `l.${column} IS NOT DISTINCT FROM r.${column}`);
  // A chain that differs in its numbers only stays as it is; another one is replaced as a whole.
  const ofUsers =
    name === 'consent_log'
      ? (row: string) =>
          `AND (${row}.account_id, ${row}.user_id) IN (SELECT account_id, user_id FROM users)`
      : () => '';
  const users =
    name === 'consent_log'
      ? `users AS (SELECT account_id, user_id FROM ((${contents(LIVE_SCHEMA)}) EXCEPT ALL (${contents(SHADOW_SCHEMA)})) a
           UNION SELECT account_id, user_id FROM ((${contents(SHADOW_SCHEMA)}) EXCEPT ALL (${contents(LIVE_SCHEMA)})) b), `
      : '';
  return `WITH ${users}gone AS (
      DELETE FROM ${LIVE_SCHEMA}.${name} l WHERE NOT (${movedOn('l')}) ${ofUsers('l')}
        AND NOT EXISTS (SELECT 1 FROM ${SHADOW_SCHEMA}.${name} r WHERE ${isSameKey}) RETURNING 1
    ), written AS (
      INSERT INTO ${LIVE_SCHEMA}.${name} AS l (${columns.join(', ')})
      SELECT ${columns.map((column) => `r.${column}`).join(', ')} FROM ${SHADOW_SCHEMA}.${name} r
      WHERE NOT EXISTS (SELECT 1 FROM ${LIVE_SCHEMA}.${name} l WHERE ${[isSameKey, ...isSame].join(' AND ')}) ${ofUsers('r')}
      ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${others.map((column) => `${column} = excluded.${column}`).join(', ')}
        WHERE NOT (${movedOn('l')}) RETURNING 1
    ) SELECT (SELECT count(*) FROM gone)::int + (SELECT count(*) FROM written)::int AS changed`;
}

/** Entries of the log of consents without their numbers. */
function contents(schema: string): string {
  const table = REGISTER_TABLES.find(({ name }) => name === 'consent_log');
  return `SELECT account_id, user_id, ${table?.values.join(', ') ?? ''} FROM ${schema}.consent_log`;
}
