import type { QueryResultRow } from 'pg';
import {
  auditedChange as changeWithLine,
  type AuditedChange,
} from '../../platform/audited-change.ts';
import type { Database } from '../../platform/postgres/pool.ts';

/** Runs a statement and writes an audit line of the operator for each row that it returns. */
export function auditedChange<Row extends QueryResultRow>(
  database: Pick<Database, 'query'>,
  change: Omit<AuditedChange, 'actor'>,
): Promise<Row[]> {
  return changeWithLine<Row>(database, { ...change, actor: 'operator' });
}
