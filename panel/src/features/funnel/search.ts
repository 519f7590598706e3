import {
  isComplete,
  readFilters,
  readSelectors,
  readTarget,
  type FilterText,
  type SelectorText,
  type TargetText,
} from '../../shared/report/condition.ts';
import { readRange, requestRange, type RangeText } from '../../shared/report/range.ts';

export const ORDERS = ['ordered', 'strict', 'any'] as const;
export type Order = (typeof ORDERS)[number];

/** The state of the page, as its URL has it. */
export interface FunnelSearch {
  steps: SelectorText[];
  range: RangeText;
  order: Order;
  /** Of the window, seconds. */
  window: number;
  exclude: SelectorText[];
  filters: FilterText[];
  breakdown?: TargetText;
  /** Of a saved report that is open. */
  saved?: number;
}

const DAY = 86_400;
export const MAX_STEPS = 12;
export const WINDOWS = [3600, DAY, 3 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 90 * DAY] as const;
const DEFAULT_WINDOW = 7 * DAY;

/** What a URL says; anything it cannot mean gets the default. */
export function readFunnelSearch(search: Record<string, unknown>): FunnelSearch {
  const { steps, range, order, window, exclude, filters, breakdown, saved } = search;
  const target = readTarget(breakdown);
  const read = readSelectors(steps).slice(0, MAX_STEPS);
  return {
    steps: read.length > 0 ? read : [{ event: '' }, { event: '' }],
    range: readRange(range),
    order: ORDERS.find((one) => one === order) ?? 'ordered',
    window: typeof window === 'number' && window >= 1 ? Math.floor(window) : DEFAULT_WINDOW,
    exclude: readSelectors(exclude),
    filters: readFilters(filters),
    ...(target ? { breakdown: target } : {}),
    ...(typeof saved === 'number' ? { saved } : {}),
  };
}

/** The URL of a state: what has its default is left out, and links stay short. */
export function writeFunnelSearch(search: FunnelSearch): Record<string, unknown> {
  const { steps, range, order, window, exclude, filters, breakdown, saved } = search;
  return {
    steps,
    ...(range === '30d' ? {} : { range }),
    ...(order === 'ordered' ? {} : { order }),
    ...(window === DEFAULT_WINDOW ? {} : { window }),
    ...(exclude.length === 0 ? {} : { exclude }),
    ...(filters.length === 0 ? {} : { filters }),
    ...(breakdown ? { breakdown: { [breakdown.kind]: breakdown.name } } : {}),
    ...(saved === undefined ? {} : { saved }),
  };
}

/** The body of POST /v1/reports/funnel; undefined as long as fewer than two steps have an event. */
export function funnelRequest(search: FunnelSearch, today: number): object | undefined {
  const { order, window, exclude, filters, breakdown } = search;
  const steps = search.steps.filter(({ event }) => event !== '').map(complete);
  if (steps.length < 2) return undefined;
  const excluded = exclude.filter(({ event }) => event !== '').map(complete);
  return {
    steps,
    ...requestRange(search.range, today),
    order,
    window_seconds: window,
    ...(excluded.length > 0 && order !== 'any' ? { exclude: excluded } : {}),
    filters: filters.filter(isComplete),
    ...(breakdown && breakdown.name !== ''
      ? { breakdown: { [breakdown.kind]: breakdown.name, limit: 10 } }
      : {}),
  };
}

function complete({ event, filters = [] }: SelectorText): SelectorText {
  const whole = filters.filter(isComplete);
  return { event, ...(whole.length > 0 ? { filters: whole } : {}) };
}
