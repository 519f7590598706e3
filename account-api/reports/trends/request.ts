import Type, { type Static } from 'typebox';
import type { EventSelector, Filter } from '../../../audiences/conditions/condition.ts';
import { readKey } from '../../../audiences/conditions/read-test.ts';
import { KeySchema } from '../../../audiences/conditions/schema.ts';
import { checkBody } from '../../http/check-body.ts';
import { RANGE, rangeRules, readRange, type ReportRange } from '../range.ts';
import { parsed, reject, rejectViolation, type Parsed } from '../report-problem.ts';
import {
  BreakdownSchema,
  FiltersSchema,
  readBreakdown,
  readFilters,
  readSelector,
  SELECTOR,
  selectorRules,
  type Breakdown,
} from '../selectors.ts';
import { periodStartsOf, type TrendsRule } from './periods.ts';

const MAX_SERIES = 6;
/** Points of one series: a chart of more cannot be read. */
const MAX_POINTS = 1000;

const SeriesSchema = Type.Object({
  ...SELECTOR,
  measure: Type.Optional(Type.Enum(['events', 'people', 'sum', 'average'], { default: 'events' })),
  property: Type.Optional(KeySchema),
});

/** The body of POST /v1/reports/trends. */
export const TrendsBody = Type.Object(
  {
    series: Type.Array(SeriesSchema, { minItems: 1, maxItems: MAX_SERIES }),
    ...RANGE,
    period: Type.Optional(Type.Enum(['hour', 'day', 'week', 'month'], { default: 'day' })),
    calendar: Type.Optional(Type.Enum(['gregorian', 'jalali'], { default: 'gregorian' })),
    week_start: Type.Optional(Type.Enum(['saturday', 'sunday', 'monday'], { default: 'saturday' })),
    filters: FiltersSchema,
    breakdown: BreakdownSchema,
    include_bots: Type.Optional(Type.Boolean({ default: false })),
  },
  { $id: 'TrendsRequest' },
);
type TrendsBody = Static<typeof TrendsBody>;

export type TrendsMeasure = NonNullable<TrendsBody['series'][number]['measure']>;

export interface TrendsSeries extends EventSelector {
  /** The event as the request wrote it; answers repeat it. */
  label: string;
  measure: TrendsMeasure;
  /** Of sum and average: whose numbers are added. */
  property: string | undefined;
}

export interface TrendsRequest {
  range: ReportRange;
  series: readonly TrendsSeries[];
  rule: TrendsRule;
  filters: readonly Filter[];
  breakdown: Breakdown | undefined;
  includeBots: boolean;
}

/** Body of POST /v1/reports/trends (docs/reports.md, Trends). Unknown fields are ignored. */
export function parseTrends(body: unknown): Parsed<TrendsRequest> {
  return parsed(() => {
    const selectors = selectorRules({
      events: ['series[].event'],
      lists: ['series[].filters', 'filters'],
      steps: () => 1,
    });
    checkBody(TrendsBody, body, {
      before: selectors.before,
      after: {
        ...selectors.after,
        ...rangeRules(body),
        'series[]': (value, path) => {
          const { measure, property } = value as TrendsBody['series'][number];
          const needsProperty = measure === 'sum' || measure === 'average';
          if (needsProperty !== (typeof property === 'string'))
            reject('option', `${path}.property`);
        },
      },
      onViolation: rejectViolation,
    });
    const request = readTrends(body as TrendsBody);
    if (periodStartsOf(request).length - 1 > MAX_POINTS) reject('range_too_long');
    return request;
  });
}

function readTrends(sent: TrendsBody): TrendsRequest {
  return {
    range: readRange(sent),
    series: sent.series.map((one) => ({
      ...readSelector(one),
      label: one.event,
      measure: one.measure ?? 'events',
      property: one.property === undefined ? undefined : readProperty(one.property),
    })),
    rule: {
      period: sent.period ?? 'day',
      calendar: sent.calendar ?? 'gregorian',
      weekStart: sent.week_start ?? 'saturday',
    },
    filters: readFilters(sent.filters),
    breakdown: readBreakdown(sent.breakdown),
    includeBots: sent.include_bots ?? false,
  };
}

function readProperty(sent: string): string {
  const read = readKey(sent);
  if (!read.ok) return reject(read.problem === 'too_long' ? 'key_too_long' : 'option', 'property');
  return read.key;
}
