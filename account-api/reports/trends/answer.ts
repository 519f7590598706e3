import { listedValue, type BucketRow, type ListedValue } from '../breakdown-sql.ts';
import { reportMeta, type Measured, type ReportMeta } from '../meta.ts';
import { periodStartsOf } from './periods.ts';
import type { TrendsMeasure, TrendsRequest } from './request.ts';

/** One row of the compiled statement: a series in a period; period -1: in the whole range. */
export interface TrendsRow extends BucketRow {
  series: number;
  period: number;
  events: number;
  people: number;
  /** Of the property's numbers. */
  total: number | null;
  numbers: number;
}

export interface SeriesAnswer {
  event: string;
  measure: TrendsMeasure;
  /** Of the whole range: people of several periods count once. Null: an average of nothing. */
  total: number | null;
  /** By period. */
  values: (number | null)[];
}

export interface TrendsAnswer {
  /** First instants of the periods, RFC 3339. */
  periods: string[];
  /** Position of the first period that is not over. */
  incomplete_from?: number;
  series: SeriesAnswer[];
  breakdown?: (ListedValue & { series: SeriesAnswer[] })[];
  meta: ReportMeta;
}

/** The answer of POST /v1/reports/trends from the rows of compileTrends' statement. */
export function answerTrends(options: {
  request: TrendsRequest;
  rows: readonly TrendsRow[];
  measured: Measured;
}): TrendsAnswer {
  const { request, rows, measured } = options;
  const starts = periodStartsOf(request);
  const ends = starts.slice(1);
  const over = ends.filter((end) => end <= measured.freshUntil).length;
  const isIncomplete = over < ends.length;
  const series = seriesOf(
    request,
    rows.filter(({ kind }) => kind === 'all'),
  );
  const groups = Map.groupBy(
    rows.filter(({ kind }) => kind !== 'all'),
    ({ kind, value }) => JSON.stringify([kind, value]),
  );
  return {
    periods: starts.slice(0, -1).map((start) => new Date(start).toISOString()),
    ...(isIncomplete ? { incomplete_from: over } : {}),
    series,
    ...(request.breakdown
      ? {
          breakdown: [...groups.values()].flatMap((group) =>
            group[0] ? [{ ...listedValue(group[0]), series: seriesOf(request, group) }] : [],
          ),
        }
      : {}),
    meta: reportMeta(measured, isIncomplete),
  };
}

function seriesOf(request: TrendsRequest, rows: readonly TrendsRow[]): SeriesAnswer[] {
  const periods = periodStartsOf(request).length - 1;
  return request.series.map(({ label, measure }, at) => {
    const own = new Map(rows.filter(({ series }) => series === at).map((row) => [row.period, row]));
    return {
      event: label,
      measure,
      total: measured(measure, own.get(-1)),
      values: Array.from({ length: periods }, (_, period) => measured(measure, own.get(period))),
    };
  });
}

function measured(measure: TrendsMeasure, row: TrendsRow | undefined): number | null {
  switch (measure) {
    case 'events':
      return row?.events ?? 0;
    case 'people':
      return row?.people ?? 0;
    case 'sum':
      return row?.total ?? 0;
    case 'average':
      return row && row.numbers > 0 ? (row.total ?? 0) / row.numbers : null;
  }
}
