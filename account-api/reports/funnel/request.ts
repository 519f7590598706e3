import Type, { type Static } from 'typebox';
import type { EventSelector, Filter } from '../../../audiences/conditions/condition.ts';
import { checkBody } from '../../http/check-body.ts';
import { stepsOverlap } from '../overlap.ts';
import { RANGE, rangeRules, readRange, type ReportRange } from '../range.ts';
import { parsed, reject, rejectViolation, type Parsed } from '../report-problem.ts';
import {
  FiltersSchema,
  BreakdownSchema,
  readBreakdown,
  readFilters,
  readSelector,
  SELECTOR,
  SelectorSchema,
  selectorRules,
  type Breakdown,
} from '../selectors.ts';

/** Bounds of management 8.3 and of reports: Funnel. */
const MIN_STEPS = 2;
const MAX_STEPS = 12;
const MAX_WINDOW_SECONDS = 31_536_000;
const DEFAULT_WINDOW_SECONDS = 604_800;
/** Maximum steps of a funnel in any order in which one event can match several steps. */
const MAX_AMBIGUOUS_STEPS = 6;
/** The statement grows with every exclusion, with filters or without. */
const MAX_EXCLUSIONS = 50;

const SafeInteger = Type.Refine(Type.Integer(), (value) => Number.isSafeInteger(value));
const ExclusionSchema = Type.Object({
  ...SELECTOR,
  from_step: Type.Optional(SafeInteger),
  to_step: Type.Optional(SafeInteger),
});

/** The body of POST /v1/reports/funnel; properties in the order in which errors are reported. */
export const FunnelBody = Type.Object(
  {
    steps: Type.Array(SelectorSchema, { minItems: MIN_STEPS, maxItems: MAX_STEPS }),
    ...RANGE,
    order: Type.Optional(Type.Enum(['ordered', 'strict', 'any'], { default: 'ordered' })),
    exclude: Type.Optional(Type.Array(ExclusionSchema, { maxItems: MAX_EXCLUSIONS })),
    window_seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_WINDOW_SECONDS, default: DEFAULT_WINDOW_SECONDS }),
    ),
    filters: FiltersSchema,
    breakdown: BreakdownSchema,
    include_bots: Type.Optional(Type.Boolean({ default: false })),
  },
  { $id: 'FunnelRequest' },
);
type FunnelBody = Static<typeof FunnelBody>;

export type FunnelOrder = NonNullable<FunnelBody['order']>;

export interface FunnelStep extends EventSelector {
  /** The event as the request wrote it; answers repeat it. */
  label: string;
}

/**
 * An event that must not occur strictly between the events of steps i and i + 1, for fromStep ≤ i <
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
 * Reads the body of POST /v1/reports/funnel (reports: Funnel; errors: management 4.2). Unknown
 * fields are ignored.
 */
export function parseFunnel(body: unknown): Parsed<FunnelRequest> {
  return parsed(() => {
    checkFunnel(body);
    return readFunnel(body as FunnelBody);
  });
}

function checkFunnel(body: unknown): void {
  const sent = body as FunnelBody;
  const selectors = selectorRules({
    events: ['steps[].event', 'exclude[].event'],
    lists: ['steps[].filters', 'exclude[].filters', 'filters'],
    steps: () => sent.steps.length,
  });
  checkBody(FunnelBody, body, {
    before: selectors.before,
    after: {
      ...selectors.after,
      ...rangeRules(body),
      'exclude[]'(value, path) {
        const { fromStep, toStep } = spanOf(value as SentExclusion, sent.steps.length);
        if (fromStep < 1 || fromStep >= toStep || toStep > sent.steps.length)
          reject('option', path);
      },
      exclude: () => checkAnyOrder(sent),
    },
    onViolation: rejectViolation,
  });
}

function checkAnyOrder({ order, exclude, steps }: FunnelBody): void {
  if (order !== 'any') return;
  if (exclude?.length) reject('option', 'exclude');
  if (steps.length > MAX_AMBIGUOUS_STEPS && stepsOverlap(steps.map(readSelector))) reject('steps');
}

type SentExclusion = Static<typeof ExclusionSchema>;

function spanOf(
  { from_step, to_step }: SentExclusion,
  steps: number,
): Pick<Exclusion, 'fromStep' | 'toStep'> {
  return { fromStep: from_step ?? 1, toStep: to_step ?? steps };
}

function readFunnel(sent: FunnelBody): FunnelRequest {
  return {
    range: readRange(sent),
    steps: sent.steps.map((step) => ({ label: step.event, ...readSelector(step) })),
    windowMs: (sent.window_seconds ?? DEFAULT_WINDOW_SECONDS) * 1000,
    order: sent.order ?? 'ordered',
    exclude: (sent.exclude ?? []).map((exclusion) => ({
      ...readSelector(exclusion),
      ...spanOf(exclusion, sent.steps.length),
    })),
    filters: readFilters(sent.filters),
    breakdown: readBreakdown(sent.breakdown),
    includeBots: sent.include_bots ?? false,
  };
}
