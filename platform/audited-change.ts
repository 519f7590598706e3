import type { QueryResultRow } from 'pg';

/** A pool of PostgreSQL, or what a service puts over one. */
export interface Queries {
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the caller names its columns, as with pg
  query<Row extends QueryResultRow>(text: string, values: unknown[]): Promise<{ rows: Row[] }>;
}

export interface AuditedChange {
  /** Common table expressions that the statement reads and that change rows: `made AS (…)`. */
  steps?: readonly string[];
  /**
   * Returns `account_id` and `audit` (jsonb: what the line says besides `details`) among its
   * columns; its values are $1 to $n.
   */
  statement: string;
  values: readonly unknown[];
  /** As in AuditLine. */
  actor: string;
  action: string;
  /** Never a secret or personal data. */
  details: Readonly<Record<string, unknown>>;
}

/** Runs a statement and writes an audit line for each row that it returns, atomically. */
export async function auditedChange<Row extends QueryResultRow>(
  database: Queries,
  { steps = [], statement, values, actor, action, details }: AuditedChange,
): Promise<Row[]> {
  const at = values.length;
  const { rows } = await database.query<Row & { audit: unknown }>(
    `WITH ${[...steps, `changed AS (${statement})`].join(', ')}, line AS (
       INSERT INTO audit_lines (account_id, actor, action, details)
       SELECT account_id, $${at + 1}::text, $${at + 2}::text, $${at + 3}::jsonb || audit FROM changed
     )
     SELECT * FROM changed`,
    [...values, actor, action, JSON.stringify(details)],
  );
  return rows.map((row) => {
    const shown: Partial<typeof row> = { ...row };
    delete shown.audit;
    return shown as unknown as Row;
  });
}
