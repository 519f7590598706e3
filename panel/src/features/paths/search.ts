import {
  isComplete,
  readFilters,
  readSelector,
  type FilterText,
  type SelectorText,
} from '../../shared/report/condition.ts';
import { readRange, requestRange, type RangeText } from '../../shared/report/range.ts';

export const DIRECTIONS = ['after', 'before'] as const;
export const DEPTHS = [1, 2, 3, 4, 5] as const;
export const WINDOWS = [1800, 3600, 86_400, 604_800] as const;

/** The state of the page, as its URL has it. */
export interface PathsSearch {
  start: SelectorText;
  range: RangeText;
  direction: (typeof DIRECTIONS)[number];
  depth: number;
  /** Seconds. */
  window: number;
  filters: FilterText[];
}

export function readPathsSearch(search: Record<string, unknown>): PathsSearch {
  const { start, range, direction, depth, window, filters } = search;
  return {
    start: readSelector(start) ?? { event: '' },
    range: readRange(range),
    direction: DIRECTIONS.find((one) => one === direction) ?? 'after',
    depth: DEPTHS.find((one) => one === depth) ?? 3,
    window: WINDOWS.find((one) => one === window) ?? 86_400,
    filters: readFilters(filters),
  };
}

export function writePathsSearch(search: PathsSearch): Record<string, unknown> {
  const { start, range, direction, depth, window, filters } = search;
  return {
    start,
    ...(range === '30d' ? {} : { range }),
    ...(direction === 'after' ? {} : { direction }),
    ...(depth === 3 ? {} : { depth }),
    ...(window === 86_400 ? {} : { window }),
    ...(filters.length === 0 ? {} : { filters }),
  };
}

/** The body of POST /v1/reports/paths; undefined as long as no event is chosen. */
export function pathsRequest(search: PathsSearch, today: number): object | undefined {
  const { start, direction, depth, window, filters } = search;
  if (start.event === '') return undefined;
  return {
    start: { event: start.event, filters: (start.filters ?? []).filter(isComplete) },
    ...requestRange(search.range, today),
    ...{ direction, depth, window_seconds: window },
    filters: filters.filter(isComplete),
  };
}
