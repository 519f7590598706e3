import { listedValue, type BucketRow, type ListedValue } from '../breakdown-sql.ts';
import { reportMeta, type Measured, type ReportMeta } from '../meta.ts';
import { periodsOf, type Periods } from './periods.ts';
import type { RetentionRequest } from './request.ts';

export interface CohortAnswer {
  /** First day of the period, YYYY-MM-DD of the requested calendar. */
  start: string;
  size: number;
  /** One entry per period that has begun, the cohort's own first. */
  returned: number[];
  /** Index of the first entry whose period is not over. */
  incomplete_from?: number;
}

export interface RetentionValueAnswer extends ListedValue {
  cohorts: CohortAnswer[];
}

export interface RetentionAnswer {
  cohorts: CohortAnswer[];
  breakdown?: RetentionValueAnswer[];
  meta: ReportMeta;
}

/**
 * One row of the compiled statement: a cohort that has members, of all people or of one value. Rows
 * come in the order of the answer.
 */
export interface RetentionRow extends BucketRow {
  /** Position of the cohort's period. */
  cohort: number;
  size: number;
  /** Members who returned, by period since the cohort's own. */
  returned: number[];
}

/** The answer of POST /v1/reports/retention from the rows of compileRetention's statement. */
export function answerRetention(options: {
  request: RetentionRequest;
  rows: readonly RetentionRow[];
  measured: Measured;
}): RetentionAnswer {
  const { request, rows, measured } = options;
  const periods = periodsOf(request);
  const shape = { periods, followed: request.periods, freshUntil: measured.freshUntil };
  const cohorts = cohortAnswers(
    rows.filter((row) => row.kind === 'all'),
    shape,
  );
  const meta = reportMeta(
    measured,
    cohorts.some((cohort) => cohort.incomplete_from !== undefined),
  );
  if (!request.breakdown) return { cohorts, meta };
  const groups = Map.groupBy(
    rows.filter((row) => row.kind !== 'all'),
    (row) => JSON.stringify([row.kind, row.value]),
  );
  const breakdown = [...groups.values()].flatMap((group): RetentionValueAnswer[] =>
    group[0] ? [{ ...listedValue(group[0]), cohorts: cohortAnswers(group, shape) }] : [],
  );
  return { cohorts, breakdown, meta };
}

interface Shape {
  periods: Periods;
  /** Entries at most. */
  followed: number;
  freshUntil: number;
}

function cohortAnswers(
  rows: readonly RetentionRow[],
  { periods, followed, freshUntil }: Shape,
): CohortAnswer[] {
  const byCohort = new Map(rows.map((row) => [row.cohort, row]));
  const { labels, starts } = periods;
  return labels.map((start, cohort) => {
    const row = byCohort.get(cohort);
    // entry n is of the period cohort + n: from starts[cohort + n] to starts[cohort + n + 1]
    const begun = starts
      .slice(cohort, cohort + followed)
      .filter((instant) => instant <= freshUntil).length;
    const over = starts
      .slice(cohort + 1, cohort + 1 + begun)
      .filter((end) => end <= freshUntil).length;
    const returned = Array.from({ length: begun }, (_, n) => row?.returned[n] ?? 0);
    return {
      start,
      size: row?.size ?? 0,
      returned,
      ...(over < begun ? { incomplete_from: over } : {}),
    };
  });
}
