import type { Database } from '../../../platform/postgres/pool.ts';
import { LIVE_SCHEMA } from '../../../projections/addresses/write-batch.ts';
import type { TableComparison } from '../compare.ts';
import { REGISTER_TABLES, type RegisterTable } from './register-tables.ts';
import { SHADOW_SCHEMA } from './shadow-schema.ts';

type Queries = Pick<Database, 'query'>;

const MAX_EXAMPLES = 10;

/**
 * True of a live row that a command wrote which the shadow tables have not read: the live table
 * moved on. One that was written before must be the same.
 */
export function movedOn(row: string): string {
  return `(${row}.log_epoch, ${row}.log_offset) >= (
    coalesce((SELECT p.epoch FROM ${SHADOW_SCHEMA}.channel_positions p WHERE p.partition = ${row}.log_partition), 0),
    coalesce((SELECT p.next_offset FROM ${SHADOW_SCHEMA}.channel_positions p WHERE p.partition = ${row}.log_partition), 0))`;
}

/**
 * The rows of a table with what is compared. Entries of the log of consents are compared without
 * their numbers, which depend on what an erasure or a log that went back has left.
 */
function side({ name, key, values }: RegisterTable, schema: string): string {
  const columns = name === 'consent_log' ? [...key.slice(0, 2), ...values] : key;
  const id = `concat_ws(' ', '${name}', ${columns.map((column) => `to_json(t.${column}::text)`).join(', ')})`;
  const checksum = `md5(row(${values.map((column) => `t.${column}`).join(', ')})::text)`;
  const moved = schema === LIVE_SCHEMA ? movedOn('t') : 'false';
  return `SELECT ${id} AS id, count(*) AS n, min(${checksum}) AS h, bool_or(${moved}) AS moved FROM ${schema}.${name} t GROUP BY 1`;
}

interface Row extends Omit<TableComparison, 'examples'> {
  examples: { id: string; live: number; rebuilt: number }[] | null;
}

/** Compares the live tables with the shadow tables, by key. */
export async function compareRegisters(database: Queries): Promise<TableComparison> {
  const total: TableComparison = {
    ...{ live: 0, rebuilt: 0, compared: 0, equal: 0, moved_on: 0, differing: 0 },
    examples: [],
  };
  for (const table of REGISTER_TABLES) {
    const { rows } = await database.query<Row>(
      `WITH joined AS (
         SELECT coalesce(l.id, r.id) AS id, coalesce(l.n, 0)::int AS live, coalesce(r.n, 0)::int AS rebuilt,
           coalesce(l.n = r.n AND l.h = r.h, false) AS same, coalesce(l.moved, false) AS moved
         FROM (${side(table, LIVE_SCHEMA)}) l FULL JOIN (${side(table, SHADOW_SCHEMA)}) r USING (id)
       ) SELECT coalesce(sum(live), 0)::int AS live, coalesce(sum(rebuilt), 0)::int AS rebuilt, count(*)::int AS compared,
         count(*) FILTER (WHERE same)::int AS equal, count(*) FILTER (WHERE NOT same AND moved)::int AS moved_on,
         count(*) FILTER (WHERE NOT same AND NOT moved)::int AS differing,
         (SELECT json_agg(e) FROM (SELECT id, live, rebuilt FROM joined WHERE NOT same AND NOT moved ORDER BY id LIMIT ${MAX_EXAMPLES}) e) AS examples
       FROM joined`,
    );
    for (const row of rows) add(total, row);
  }
  return total;
}

function add(total: TableComparison, { examples, ...counts }: Row): void {
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) total[name] += counts[name];
  for (const { id, live, rebuilt } of examples ?? [])
    if (total.examples.length < MAX_EXAMPLES)
      total.examples.push({
        what: id,
        state: live === 0 ? 'only rebuilt' : rebuilt === 0 ? 'only live' : 'differs',
      });
}

/** Live rows that records left which the log lost when it went back: no rebuild has them. */
export async function lostRows(database: Queries): Promise<number> {
  let count = 0;
  for (const { name } of REGISTER_TABLES) {
    const { rows } = await database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM ${LIVE_SCHEMA}.${name} t WHERE EXISTS (
         SELECT 1 FROM log_epochs e WHERE e.topic = 'channel.commands' AND e.partition = t.log_partition
           AND e.epoch > t.log_epoch AND e.first_offset <= t.log_offset)`,
    );
    count += rows[0]?.count ?? 0;
  }
  return count;
}
