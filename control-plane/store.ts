import type { QueryResult, QueryResultRow } from 'pg';
import type { Database } from '../platform/postgres/pool.ts';

/** PostgreSQL could not do what it was asked: the request is answered 503. */
export class StoreUnavailable extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'StoreUnavailable';
  }
}

/** A row with such a unique value stands there already. */
export class AlreadyTaken extends Error {
  constructor() {
    super('a row with this value exists already');
    this.name = 'AlreadyTaken';
  }
}

/** What the stores of this folder ask. Rejects with AlreadyTaken or StoreUnavailable only. */
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
          ? new AlreadyTaken()
          : new StoreUnavailable(error);
      }
    },
  };
}

/** Whose change it is, and what the audit log says of it. */
export interface Recorded {
  /** Past tense, dotted. */
  action: string;
  memberId: number;
  /** Never a secret. The changing statement adds the column `audit_id` to it, under this name. */
  idAs: string;
  details: Readonly<Record<string, unknown>>;
}

/**
 * Runs a statement that changes rows together with its audit lines (table audit_lines, as
 * platform/audit.ts writes it): both are done or none is. The statement returns `account_id` and
 * `audit_id` among its columns; one line is written for each row. Its values are $1 to $n.
 */
export async function changeRecorded<Row extends QueryResultRow>(
  store: Store,
  {
    statement,
    values,
    record,
  }: { statement: string; values: readonly unknown[]; record: Recorded },
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
      record.idAs,
      JSON.stringify(record.details),
    ],
  );
  return rows;
}
