import {
  isComplete,
  readFilters,
  readSelector,
  readTarget,
  type FilterText,
  type SelectorText,
  type TargetText,
} from '../../shared/report/condition.ts';
import { dayText } from '../../../../events/tehran-time.ts';
import { daysOf, readRange, requestRange, type RangeText } from '../../shared/report/range.ts';

export const MEASURES = ['events', 'people', 'sum', 'average'] as const;
export type Measure = (typeof MEASURES)[number];
export const PERIODS = ['hour', 'day', 'week', 'month'] as const;
export const FORMULAS = ['none', 'divide', 'subtract', 'add'] as const;
export type Formula = (typeof FORMULAS)[number];

export interface SeriesText extends SelectorText {
  measure: Measure;
  /** Of sum and average. */
  property?: string;
}

/** The state of the page, as its URL has it. */
export interface TrendsSearch {
  series: SeriesText[];
  range: RangeText;
  period: (typeof PERIODS)[number];
  filters: FilterText[];
  breakdown?: TargetText;
  /** Of the first two series. */
  formula: Formula;
  /** With the same number of days directly before. */
  compare: boolean;
}

export const MAX_SERIES = 6;

export function readTrendsSearch(search: Record<string, unknown>): TrendsSearch {
  const { series, range, period, filters, breakdown, formula, compare } = search;
  const read = (Array.isArray(series) ? series : []).flatMap(readSeries).slice(0, MAX_SERIES);
  const target = readTarget(breakdown);
  return {
    series: read.length > 0 ? read : [{ event: '', measure: 'events' }],
    range: readRange(range),
    period: PERIODS.find((one) => one === period) ?? 'day',
    filters: readFilters(filters),
    formula: FORMULAS.find((one) => one === formula) ?? 'none',
    compare: compare === true,
    ...(target ? { breakdown: target } : {}),
  };
}

function readSeries(sent: unknown): SeriesText[] {
  const selector = readSelector(sent);
  if (!selector) return [];
  const { measure, property } = sent as Record<string, unknown>;
  return [
    {
      ...selector,
      measure: MEASURES.find((one) => one === measure) ?? 'events',
      ...(typeof property === 'string' ? { property } : {}),
    },
  ];
}

export function writeTrendsSearch(search: TrendsSearch): Record<string, unknown> {
  const { series, range, period, filters, breakdown, formula, compare } = search;
  return {
    series,
    ...(range === '30d' ? {} : { range }),
    ...(period === 'day' ? {} : { period }),
    ...(filters.length === 0 ? {} : { filters }),
    ...(breakdown ? { breakdown: { [breakdown.kind]: breakdown.name } } : {}),
    ...(formula === 'none' ? {} : { formula }),
    ...(compare ? { compare } : {}),
  };
}

interface Today {
  today: number;
  calendar: 'jalali' | 'gregorian';
}

/** The body of POST /v1/reports/trends; undefined as long as no series is complete. */
export function trendsRequest(
  search: TrendsSearch,
  { today, calendar }: Today,
): { from: string; to: string } | undefined {
  const { breakdown, filters, period } = search;
  const series = search.series.filter(isWhole).map((one) => ({
    event: one.event,
    measure: one.measure,
    ...(needsProperty(one.measure) ? { property: one.property } : {}),
    filters: (one.filters ?? []).filter(isComplete),
  }));
  if (series.length === 0) return undefined;
  return {
    ...requestRange(search.range, today),
    ...{ series, period, calendar },
    filters: filters.filter(isComplete),
    ...(breakdown && breakdown.name !== ''
      ? { breakdown: { [breakdown.kind]: breakdown.name, limit: 5 } }
      : {}),
  } as { from: string; to: string };
}

/** The same request for as many days directly before. */
export function previousRequest(search: TrendsSearch, at: Today): object | undefined {
  const request = trendsRequest(search, at);
  if (!request || !search.compare) return undefined;
  const { from, to } = daysOf(search.range, at.today);
  return { ...request, from: dayText(from - (to - from)), to: dayText(from) };
}

export function needsProperty(measure: Measure): boolean {
  return measure === 'sum' || measure === 'average';
}

function isWhole({ event, measure, property = '' }: SeriesText): boolean {
  return event !== '' && (!needsProperty(measure) || property !== '');
}
