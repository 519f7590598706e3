import type { Series } from '../../shared/chart/time-chart.tsx';
import type { CsvTable } from '../../shared/report/csv.ts';
import type { ReportMeta } from '../../shared/report/meta.tsx';
import type { Formula, Measure } from './search.ts';

export interface SeriesAnswer {
  event: string;
  measure: Measure;
  total: number | null;
  values: (number | null)[];
}

/** The answer of POST /v1/reports/trends. */
export interface TrendsAnswer {
  periods: string[];
  incomplete_from?: number;
  series: SeriesAnswer[];
  breakdown?: { value: string | null; other?: true; series: SeriesAnswer[] }[];
  meta: ReportMeta;
}

/** A formula of two values; null where it has none. */
export function applyFormula(
  formula: Exclude<Formula, 'none'>,
  left: number | null,
  right: number | null,
): number | null {
  if (left === null || right === null) return null;
  switch (formula) {
    case 'add':
      return left + right;
    case 'subtract':
      return left - right;
    case 'divide':
      return right === 0 ? null : left / right;
  }
}

/** The series of a chart: those of the request, or their formula, or those of a breakdown. */
export function chartSeries(
  { series, breakdown }: Pick<TrendsAnswer, 'series' | 'breakdown'>,
  {
    formula,
    nameOf,
    otherName,
    noneName,
    formulaName,
  }: {
    formula: Formula;
    nameOf: (series: SeriesAnswer) => string;
    otherName: string;
    noneName: string;
    formulaName: string;
  },
): Series[] {
  const [left, right] = series;
  if (formula !== 'none' && left && right)
    return [
      {
        key: 'formula',
        label: formulaName,
        values: left.values.map((value, at) =>
          applyFormula(formula, value, right.values[at] ?? null),
        ),
      },
    ];
  if (breakdown)
    return breakdown.map(({ value, other, series: [first] }, at) => ({
      key: String(at),
      label: other ? otherName : (value ?? noneName),
      values: first?.values ?? [],
    }));
  return series.map((one, at) => ({ key: String(at), label: nameOf(one), values: one.values }));
}

export function trendsCsv({ periods, series, breakdown = [] }: TrendsAnswer): CsvTable {
  const groups = [
    { label: '', series },
    ...breakdown.map(({ value, other, series: of }) => ({
      label: other ? '(other)' : (value ?? '(none)'),
      series: of,
    })),
  ];
  return {
    header: ['period', 'value', 'event', 'measure', 'number'],
    rows: groups.flatMap(({ label, series: of }) =>
      of.flatMap(({ event, measure, values }) =>
        values.map((number, at) => [periods[at] ?? '', label, event, measure, number]),
      ),
    ),
  };
}
