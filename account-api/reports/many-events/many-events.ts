import type { Merges } from '../../../audiences/people-sql.ts';
import type { CompiledQuery } from '../../../platform/clickhouse/sql.ts';
import type { Counted } from './counted.ts';

/** The counted paths of a funnel in order of whose steps no two match one event. */
export interface OrderedRules {
  /** Number of steps. */
  steps: number;
  windowMs: number;
}

/** First-time retention. */
export interface FirstTimeRules {
  cohorts: number;
  /** Periods of a cohort, its own included: 60 at most. */
  periods: number;
  /** Starts are returns, and returns starts. */
  isSameEvent: boolean;
}

/** What is counted of each person's events, by wasm/ordered.as.ts and wasm/first-time.as.ts. */
export type Counting =
  { kind: 'ordered'; rules: OrderedRules } | { kind: 'first-time'; rules: FirstTimeRules };

/** Which values of a list the rows need: those of these ranks (0-based, ascending). */
export interface Ranking {
  list: number;
  ranks: number[];
  /** No value is greater. */
  max: number;
}

/**
 * A report whose events are grouped by person in this process (read-many.ts); its rows are those of
 * its statement.
 */
export interface ManyEvents {
  /** Range of the report, ms. */
  rangeMs: number;
  /**
   * Statements that together read each event once, for so many threads: SLICES_PER_THREAD at most
   * for each. Their columns are `person` and `key`, UInt64; a key is less than 2^52.
   */
  statements: (merges: Merges, threads: number) => CompiledQuery[];
  counting: Counting;
  rankings: (counted: Pick<Counted, 'counts'>) => Ranking[];
  /** @param values the values of each ranking */
  rows: (counted: Pick<Counted, 'counts'>, values: number[][]) => unknown[];
}
