import { readBreakdown, type Breakdown } from '../breakdown.ts';
import { FilterReader } from '../filter-request.ts';
import type { EventSelector, Filter } from '../../conditions/condition.ts';
import { readRange, type ReportRange } from '../range.ts';
import { parsed, reject, type Parsed } from '../report-problem.ts';
import { readChoice, readFlag, readObject, readWhole } from '../request-reader.ts';

/** management 8.3. */
const MAX_PERIODS = 60;
const DEFAULT_PERIODS = 30;

export type RetentionMode = 'first_time' | 'recurring';

/** What a period is: a calendar day, week or month of the report's time zone. */
export interface PeriodRule {
  period: 'day' | 'week' | 'month';
  calendar: 'gregorian' | 'jalali';
  weekStart: 'saturday' | 'sunday' | 'monday';
}

export interface RetentionRequest {
  range: ReportRange;
  start: EventSelector;
  return: EventSelector;
  mode: RetentionMode;
  rule: PeriodRule;
  /** Entries of `returned` at most, the cohort's own period among them. */
  periods: number;
  filters: readonly Filter[];
  breakdown: Breakdown | undefined;
  includeBots: boolean;
}

/**
 * Reads the body of POST /v1/reports/retention (reports.md, "Retention"; errors: management 4.2).
 * Unknown fields are ignored.
 */
export function parseRetention(body: unknown): Parsed<RetentionRequest> {
  return parsed(() => readRetention(body));
}

function readRetention(body: unknown): RetentionRequest {
  const fields = readObject(body, '');
  const reader = new FilterReader();
  const selector = (name: 'start' | 'return'): EventSelector => {
    const value = fields[name];
    if (value === undefined || value === null) return reject('event_missing', name);
    const { event, filters } = reader.selector(value, name);
    return { event, filters };
  };
  const [start, back] = [selector('start'), selector('return')];
  return {
    start,
    return: back,
    range: readRange(fields),
    mode: readChoice(fields['mode'], ['first_time', 'recurring'], 'mode'),
    rule: {
      period: readChoice(fields['period'], ['day', 'week', 'month'], 'period'),
      calendar: readChoice(fields['calendar'], ['gregorian', 'jalali'], 'calendar'),
      weekStart: readChoice(fields['week_start'], ['saturday', 'sunday', 'monday'], 'week_start'),
    },
    periods: readPeriods(fields['periods']),
    filters: reader.list(fields['filters'], 'filters'),
    breakdown: readBreakdown(fields['breakdown'], 1),
    includeBots: readFlag(fields['include_bots'], 'include_bots'),
  };
}

/** Zero and less mean the default (management 8.3). */
function readPeriods(value: unknown): number {
  const periods = readWhole(value, 'periods') ?? 0;
  if (periods > MAX_PERIODS) return reject('option', 'periods');
  return periods <= 0 ? DEFAULT_PERIODS : periods;
}
