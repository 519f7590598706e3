import Type, { type Static } from 'typebox';
import type { EventSelector, Filter } from '../../../audiences/conditions/condition.ts';
import { checkBody } from '../../http/check-body.ts';
import { RANGE, rangeRules, readRange, type ReportRange } from '../range.ts';
import { parsed, rejectViolation, type Parsed } from '../report-problem.ts';
import {
  FiltersSchema,
  readBreakdown,
  readFilters,
  readSelector,
  BreakdownSchema,
  SelectorSchema,
  selectorRules,
  type Breakdown,
} from '../selectors.ts';

/** Bounds of management 8.3. */
const MAX_PERIODS = 60;
const DEFAULT_PERIODS = 30;

/** The body of POST /v1/reports/retention; properties in the order in which errors are reported. */
export const RetentionBody = Type.Object(
  {
    start: SelectorSchema,
    return: SelectorSchema,
    ...RANGE,
    mode: Type.Optional(Type.Enum(['first_time', 'recurring'], { default: 'first_time' })),
    period: Type.Optional(Type.Enum(['day', 'week', 'month'], { default: 'day' })),
    calendar: Type.Optional(Type.Enum(['gregorian', 'jalali'], { default: 'gregorian' })),
    week_start: Type.Optional(Type.Enum(['saturday', 'sunday', 'monday'], { default: 'saturday' })),
    periods: Type.Optional(Type.Integer({ maximum: MAX_PERIODS, default: DEFAULT_PERIODS })),
    filters: FiltersSchema,
    breakdown: BreakdownSchema,
    include_bots: Type.Optional(Type.Boolean({ default: false })),
  },
  { $id: 'RetentionRequest' },
);
type RetentionBody = Static<typeof RetentionBody>;

export type RetentionMode = NonNullable<RetentionBody['mode']>;

/** What a period is: a calendar day, week or month of the report's time zone. */
export interface PeriodRule {
  period: NonNullable<RetentionBody['period']>;
  calendar: NonNullable<RetentionBody['calendar']>;
  weekStart: NonNullable<RetentionBody['week_start']>;
}

export interface RetentionRequest {
  range: ReportRange;
  start: EventSelector;
  return: EventSelector;
  mode: RetentionMode;
  rule: PeriodRule;
  /** Maximum entries of `returned`, the cohort's own period included. */
  periods: number;
  filters: readonly Filter[];
  breakdown: Breakdown | undefined;
  includeBots: boolean;
}

/** Body of POST /v1/reports/retention (reports: Retention; management 4.2). */
export function parseRetention(body: unknown): Parsed<RetentionRequest> {
  return parsed(() => {
    const selectors = selectorRules({
      events: ['start.event', 'return.event'],
      lists: ['start.filters', 'return.filters', 'filters'],
      steps: () => 1,
    });
    checkBody(RetentionBody, body, {
      before: selectors.before,
      after: { ...selectors.after, ...rangeRules(body) },
      onViolation: rejectViolation,
    });
    return readRetention(body as RetentionBody);
  });
}

function readRetention(sent: RetentionBody): RetentionRequest {
  return {
    range: readRange(sent),
    start: readSelector(sent.start),
    return: readSelector(sent.return),
    mode: sent.mode ?? 'first_time',
    rule: {
      period: sent.period ?? 'day',
      calendar: sent.calendar ?? 'gregorian',
      weekStart: sent.week_start ?? 'saturday',
    },
    periods: periodsOf(sent.periods ?? 0),
    filters: readFilters(sent.filters),
    breakdown: readBreakdown(sent.breakdown),
    includeBots: sent.include_bots ?? false,
  };
}

/** Zero and less mean the default (management 8.3). */
function periodsOf(sent: number): number {
  return sent <= 0 ? DEFAULT_PERIODS : sent;
}
