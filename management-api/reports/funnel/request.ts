import { readBreakdown, type Breakdown } from '../breakdown.ts';
import { FilterReader } from '../filter-request.ts';
import type { EventSelector, Filter } from '../../conditions/condition.ts';
import { readRange, type ReportRange } from '../range.ts';
import { parsed, reject, type Parsed } from '../report-problem.ts';
import { readChoice, readFlag, readList, readObject, readWhole } from '../request-reader.ts';
import { stepsOverlap } from '../overlap.ts';

/** Bounds of management 8.3 and reports.md, "Funnel". */
const MIN_STEPS = 2;
const MAX_STEPS = 12;
const MAX_WINDOW_SECONDS = 31_536_000;
const DEFAULT_WINDOW_SECONDS = 604_800;
/** Most steps of an unordered funnel in which one event can match several. */
const MAX_AMBIGUOUS_STEPS = 6;
/** A statement grows with every exclusion; filters bound them only where they have some. */
const MAX_EXCLUSIONS = 50;

export type FunnelOrder = 'ordered' | 'strict' | 'any';

export interface FunnelStep extends EventSelector {
  /** The event as the request wrote it. */
  label: string;
}

/**
 * An event that must not lie strictly between the events of steps i and i + 1, for fromStep ≤ i <
 * toStep (1-based).
 */
export interface Exclusion extends EventSelector {
  fromStep: number;
  toStep: number;
}

export interface FunnelRequest {
  range: ReportRange;
  steps: readonly FunnelStep[];
  windowMs: number;
  order: FunnelOrder;
  exclude: readonly Exclusion[];
  filters: readonly Filter[];
  breakdown: Breakdown | undefined;
  includeBots: boolean;
}

/**
 * Reads the body of POST /v1/reports/funnel (reports.md, "Funnel"; errors: management 4.2). Unknown
 * fields are ignored.
 */
export function parseFunnel(body: unknown): Parsed<FunnelRequest> {
  return parsed(() => readFunnel(body));
}

function readFunnel(body: unknown): FunnelRequest {
  const fields = readObject(body, '');
  const reader = new FilterReader();
  const sentSteps = readList(fields['steps'], 'steps');
  if (sentSteps.length < MIN_STEPS || sentSteps.length > MAX_STEPS) return reject('steps');
  const steps = sentSteps.map((step, at): FunnelStep => {
    const { label, event, filters } = reader.selector(step, `steps[${at}]`);
    return { label, event, filters };
  });
  const range = readRange(fields);
  const order = readChoice(fields['order'], ['ordered', 'strict', 'any'], 'order');
  const exclude = readExclusions(fields['exclude'], { reader, steps: steps.length });
  if (order === 'any' && exclude.length > 0) return reject('option', 'exclude');
  if (order === 'any' && steps.length > MAX_AMBIGUOUS_STEPS && stepsOverlap(steps))
    return reject('steps');
  return {
    range,
    steps,
    windowMs: readWindow(fields['window_seconds']),
    order,
    exclude,
    filters: reader.list(fields['filters'], 'filters'),
    breakdown: readBreakdown(fields['breakdown'], steps.length),
    includeBots: readFlag(fields['include_bots'], 'include_bots'),
  };
}

function readWindow(value: unknown): number {
  if (value === undefined || value === null) return DEFAULT_WINDOW_SECONDS * 1000;
  const isWindow =
    typeof value === 'number' &&
    Number.isInteger(value) &&
    value >= 1 &&
    value <= MAX_WINDOW_SECONDS;
  return isWindow ? value * 1000 : reject('window');
}

function readExclusions(
  value: unknown,
  { reader, steps }: { reader: FilterReader; steps: number },
): Exclusion[] {
  const sent = readList(value, 'exclude');
  if (sent.length > MAX_EXCLUSIONS) return reject('option', 'exclude');
  return sent.map((item, at): Exclusion => {
    const path = `exclude[${at}]`;
    const { event, filters, fields } = reader.selector(item, path);
    const fromStep = readWhole(fields['from_step'], `${path}.from_step`) ?? 1;
    const toStep = readWhole(fields['to_step'], `${path}.to_step`) ?? steps;
    if (fromStep < 1 || fromStep >= toStep || toStep > steps) return reject('option', path);
    return { event, filters, fromStep, toStep };
  });
}
