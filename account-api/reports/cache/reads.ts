import { firstInstant } from '../funnel/event-arrays.ts';
import type { FunnelRequest } from '../funnel/request.ts';
import type { PathsRequest } from '../paths/request.ts';
import { periodsOf } from '../retention/periods.ts';
import type { RetentionRequest } from '../retention/request.ts';
import { periodStartsOf } from '../trends/periods.ts';
import type { TrendsRequest } from '../trends/request.ts';

/** What the statement of a report reads: when nothing of it has changed, its rows are the same. */
export interface ReportReads {
  /** Names of the events; undefined: events of any name. */
  events: readonly string[] | undefined;
  /**
   * Events of which one must be stored in the range, or the statement counts nobody; undefined: it
   * may count people without any event.
   */
  needed: readonly string[] | undefined;
  /** Epoch milliseconds: nothing outside from ≤ timestamp ≤ to. */
  from: number;
  to: number;
  /** Whether it reads people's traits. */
  profiles: boolean;
  /** Windows that end at the moment of asking: time alone takes events out of them. */
  windows?: readonly MovingWindow[];
}

/** Events of the last days before the moment of asking. */
export interface MovingWindow {
  days: number;
  /** Names of the events; undefined: events of any name. */
  events: readonly string[] | undefined;
}

type EventReads = Omit<ReportReads, 'profiles' | 'windows'>;

export function funnelReads(request: FunnelRequest): EventReads {
  const steps = request.steps.map(({ event }) => event);
  return {
    // between strict steps every event counts
    events:
      request.order === 'strict'
        ? undefined
        : [...steps, ...request.exclude.map(({ event }) => event)],
    needed: request.order === 'any' ? steps : steps.slice(0, 1),
    from: firstInstant(request),
    to: request.range.to + request.windowMs,
  };
}

export function retentionReads(request: RetentionRequest): EventReads {
  const { starts } = periodsOf(request);
  return {
    events: [request.start.event, request.return.event],
    needed: [request.start.event],
    // the very first start event may lie before the range
    from: request.mode === 'first_time' ? 0 : (starts[0] ?? 0),
    to: starts.at(-1) ?? 0,
  };
}

export function trendsReads(request: TrendsRequest): EventReads {
  const starts = periodStartsOf(request);
  const events = request.series.map(({ event }) => event);
  return { events, needed: events, from: starts[0] ?? 0, to: starts.at(-1) ?? 0 };
}

export function pathsReads({ range, start, windowMs, direction }: PathsRequest): EventReads {
  const isAfter = direction === 'after';
  return {
    events: undefined,
    needed: [start.event],
    from: isAfter ? range.from : range.from - windowMs,
    to: isAfter ? range.to + windowMs : range.to,
  };
}
