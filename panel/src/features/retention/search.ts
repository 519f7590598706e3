import {
  isComplete,
  readFilters,
  readSelector,
  type FilterText,
  type SelectorText,
} from '../../shared/report/condition.ts';
import { readRange, requestRange, type RangeText } from '../../shared/report/range.ts';

export const PERIODS = ['day', 'week', 'month'] as const;
export const MODES = ['first_time', 'recurring'] as const;

/** The state of the page, as its URL has it. */
export interface RetentionSearch {
  start: SelectorText;
  back: SelectorText;
  range: RangeText;
  period: (typeof PERIODS)[number];
  mode: (typeof MODES)[number];
  filters: FilterText[];
}

export function readRetentionSearch(search: Record<string, unknown>): RetentionSearch {
  const { start, back, range, period, mode, filters } = search;
  return {
    start: readSelector(start) ?? { event: '' },
    back: readSelector(back) ?? { event: '' },
    range: readRange(range),
    period: PERIODS.find((one) => one === period) ?? 'day',
    mode: MODES.find((one) => one === mode) ?? 'first_time',
    filters: readFilters(filters),
  };
}

export function writeRetentionSearch(search: RetentionSearch): Record<string, unknown> {
  const { start, back, range, period, mode, filters } = search;
  return {
    ...{ start, back },
    ...(range === '30d' ? {} : { range }),
    ...(period === 'day' ? {} : { period }),
    ...(mode === 'first_time' ? {} : { mode }),
    ...(filters.length === 0 ? {} : { filters }),
  };
}

/** Periods that are followed: a column each. */
const FOLLOWED = { day: 30, week: 12, month: 12 } as const;

/** The body of POST /v1/reports/retention; undefined as long as an event is missing. */
export function retentionRequest(
  search: RetentionSearch,
  { today, calendar }: { today: number; calendar: 'jalali' | 'gregorian' },
): object | undefined {
  const { start, back, range, period, mode, filters } = search;
  if (start.event === '' || back.event === '') return undefined;
  return {
    start: complete(start),
    return: complete(back),
    ...requestRange(range, today),
    ...{ period, mode, calendar, periods: FOLLOWED[period] },
    filters: filters.filter(isComplete),
  };
}

function complete({ event, filters = [] }: SelectorText): SelectorText {
  return { event, filters: filters.filter(isComplete) };
}
