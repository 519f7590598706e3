import type { FewEvents } from '../../few-events/few-events.ts';
import { stepsOverlap } from '../../overlap.ts';
import type { FunnelRequest } from '../request.ts';
import { compileEvents, type EventColumns } from './compile-events.ts';
import { computeRows } from './compute-rows.ts';

/**
 * Events from which a funnel is computed here. With more of them the process would answer nothing
 * else for too long; docs/performance.md has the measurement ("Reports of a small account").
 */
const MAX_EVENTS = { apart: 10_000, overlapping: 5_000 };

/** The rows of a funnel from its events, in place of the statement of `compileFunnel`. */
export function funnelOfFew(request: FunnelRequest, accountId: number): FewEvents {
  return eventsOfFunnel(request, accountId, (columns) => computeRows(request, columns));
}

/** What is made of the events of a funnel, where it has few. */
export function eventsOfFunnel(
  request: FunnelRequest,
  accountId: number,
  next: (columns: EventColumns) => ReturnType<FewEvents['next']>,
): FewEvents {
  const limit = MAX_EVENTS[stepsOverlap(request.steps) ? 'overlapping' : 'apart'];
  return {
    rangeMs: request.range.to - request.range.from,
    limit,
    compile: (merges) => compileEvents({ request, accountId, merges }, limit + 1),
    next: (columns) => next(columns as unknown as EventColumns),
  };
}
