import Type, { type Static } from 'typebox';
import type { EventSelector, Filter } from '../../../audiences/conditions/condition.ts';
import { checkBody } from '../../http/check-body.ts';
import { RANGE, rangeRules, readRange, type ReportRange } from '../range.ts';
import { parsed, rejectViolation, type Parsed } from '../report-problem.ts';
import {
  FiltersSchema,
  readFilters,
  readSelector,
  SelectorSchema,
  selectorRules,
} from '../selectors.ts';

const MAX_DEPTH = 5;
const DEFAULT_DEPTH = 3;
const MAX_LIMIT = 10;
const DEFAULT_LIMIT = 5;
const MAX_WINDOW_SECONDS = 2_592_000;
const DEFAULT_WINDOW_SECONDS = 86_400;

/** The body of POST /v1/reports/paths. */
export const PathsBody = Type.Object(
  {
    start: SelectorSchema,
    ...RANGE,
    direction: Type.Optional(Type.Enum(['after', 'before'], { default: 'after' })),
    depth: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_DEPTH, default: DEFAULT_DEPTH })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })),
    window_seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_WINDOW_SECONDS, default: DEFAULT_WINDOW_SECONDS }),
    ),
    filters: FiltersSchema,
    include_bots: Type.Optional(Type.Boolean({ default: false })),
  },
  { $id: 'PathsRequest' },
);
type PathsBody = Static<typeof PathsBody>;

export interface PathsRequest {
  range: ReportRange;
  start: EventSelector;
  direction: NonNullable<PathsBody['direction']>;
  /** Events of a path at most. */
  depth: number;
  /** Events listed at each place; the others are counted together. */
  limit: number;
  windowMs: number;
  filters: readonly Filter[];
  includeBots: boolean;
}

/** Body of POST /v1/reports/paths (docs/reports.md, Paths). Unknown fields are ignored. */
export function parsePaths(body: unknown): Parsed<PathsRequest> {
  return parsed(() => {
    const selectors = selectorRules({
      events: ['start.event'],
      lists: ['start.filters', 'filters'],
      steps: () => 1,
    });
    checkBody(PathsBody, body, {
      before: selectors.before,
      after: { ...selectors.after, ...rangeRules(body) },
      onViolation: rejectViolation,
    });
    return readPaths(body as PathsBody);
  });
}

function readPaths(sent: PathsBody): PathsRequest {
  return {
    range: readRange(sent),
    start: readSelector(sent.start),
    direction: sent.direction ?? 'after',
    depth: sent.depth ?? DEFAULT_DEPTH,
    limit: sent.limit ?? DEFAULT_LIMIT,
    windowMs: (sent.window_seconds ?? DEFAULT_WINDOW_SECONDS) * 1000,
    filters: readFilters(sent.filters),
    includeBots: sent.include_bots ?? false,
  };
}
