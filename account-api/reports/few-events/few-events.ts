import type { Merges } from '../../../audiences/people-sql.ts';
import type { CompiledQuery } from '../../../platform/clickhouse/sql.ts';
import type { Columns } from './read-events.ts';

/** A report that is computed here where it has few events; its rows are those of its statement. */
export interface FewEvents {
  /** Range of the report, ms. */
  rangeMs: number;
  /** With more events the statement of the report runs. */
  limit: number;
  /** The statement that reads the events, at most one more than the limit. */
  compile: (merges: Merges) => CompiledQuery;
  /** The rows, or the statement that reads them. */
  next: (columns: Columns) => unknown[] | CompiledQuery;
}
