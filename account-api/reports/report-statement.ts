import type { Merges } from '../../audiences/people-sql.ts';
import type { CompiledQuery } from '../../platform/clickhouse/sql.ts';
import type { ReportReads } from './cache/reads.ts';
import type { FewEvents } from './few-events/few-events.ts';
import type { ManyEvents } from './many-events/many-events.ts';

/** The statement of a report, and what decides its rows; undefined: they are never kept. */
export interface ReportStatement {
  accountId: number;
  /** Undefined: to be found out before the statement runs (`compile`). */
  merges: Merges | undefined;
  /** The statement for `merges`, and without them that of an account without aliases. */
  compiled: CompiledQuery;
  compile: (merges: Merges) => CompiledQuery;
  reads: ReportReads | undefined;
  /** Where the report can be computed here from few events. */
  few?: FewEvents | undefined;
  /** Where many events can be grouped by person here. */
  many?: ManyEvents | undefined;
  signal: AbortSignal;
  /** Where the statement contains the moment of asking (cache/cached-rows.ts). */
  moment?: { asOf: number; key: unknown };
}

/** What is needed of a statement to read its report. */
export type ReadStatement = Pick<ReportStatement, 'compiled' | 'signal'> &
  Partial<Pick<ReportStatement, 'accountId' | 'merges' | 'few' | 'many'>>;
