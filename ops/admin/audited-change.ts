import type { QueryResultRow } from 'pg';
import type { Database } from '../../platform/postgres/pool.ts';

/**
 * Runs a statement and writes an audit line of the operator for each row that it returns,
 * atomically. The statement returns `account_id` and `audit` (jsonb: what the line says besides
 * `details`) among its columns; its values are $1 to $n.
 */
export async function auditedChange<Row extends QueryResultRow>(
  database: Pick<Database, 'query'>,
  change: {
    statement: string;
    values: readonly unknown[];
    action: string;
    /** Never a secret or personal data. */
    details: Readonly<Record<string, unknown>>;
  },
): Promise<Row[]> {
  const { statement, values, action, details } = change;
  const at = values.length;
  const { rows } = await database.query<Row & { audit: unknown }>(
    `WITH changed AS (${statement}), line AS (
       INSERT INTO audit_lines (account_id, actor, action, details)
       SELECT account_id, 'operator', $${at + 1}::text, $${at + 2}::jsonb || audit FROM changed
     )
     SELECT * FROM changed`,
    [...values, action, JSON.stringify(details)],
  );
  return rows.map((row) => {
    const shown: Partial<typeof row> = { ...row };
    delete shown.audit;
    return shown as unknown as Row;
  });
}
