import type { QueryResult, QueryResultRow } from 'pg';
import type { Database } from '../platform/postgres/pool.ts';

/** PostgreSQL failed; the request is answered 503. */
export class StoreUnavailable extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'StoreUnavailable';
  }
}

/** A row with this unique value exists already. */
export class UniqueViolation extends Error {
  constructor() {
    super('a row with this value exists already');
    this.name = 'UniqueViolation';
  }
}

/** Queries of the stores. Rejects only with UniqueViolation or StoreUnavailable. */
export interface Store {
  query<Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[],
  ): Promise<QueryResult<Row>>;
}

const UNIQUE_VIOLATION = '23505';

export function storeOf(database: Pick<Database, 'query'>): Store {
  return {
    async query<Row extends QueryResultRow>(text: string, values: readonly unknown[]) {
      try {
        return await database.query<Row>(text, [...values]);
      } catch (error) {
        throw (error as { code?: string }).code === UNIQUE_VIOLATION
          ? new UniqueViolation()
          : new StoreUnavailable(error);
      }
    },
  };
}

/** The audit line of a change. */
export interface AuditEntry {
  /** Past tense, dotted. */
  action: string;
  memberId: number;
  /** Never a secret. The changing statement adds the column `audit_id` to it, under this name. */
  idField: string;
  details: Readonly<Record<string, unknown>>;
}

/**
 * Runs a statement and writes an audit line for each row that it returns, atomically (table
 * audit_lines, in the form of platform/audit.ts). The statement returns `account_id` and `audit_id`
 * among its columns; its values are $1 to $n.
 */
export async function changeWithAudit<Row extends QueryResultRow>(
  store: Store,
  {
    statement,
    values,
    record,
  }: { statement: string; values: readonly unknown[]; record: AuditEntry },
): Promise<Row[]> {
  const at = values.length;
  const { rows } = await store.query<Row>(
    `WITH changed AS (${statement}), line AS (
       INSERT INTO audit_lines (account_id, actor, action, details)
       SELECT account_id, $${at + 1}::text, $${at + 2}::text, jsonb_build_object($${at + 3}::text, audit_id) || $${at + 4}::jsonb FROM changed
     )
     SELECT * FROM changed`,
    [
      ...values,
      `member:${record.memberId}`,
      record.action,
      record.idField,
      JSON.stringify(record.details),
    ],
  );
  return rows;
}
