import type { Filter, Test } from './conditions/condition.ts';
import type { AttributeName, BandName, MetricName } from './attributes.ts';

/** An audience definition that was read: normalised names and values, dates in epoch ms. */
export type Audience =
  | { kind: 'all' | 'any'; of: readonly Audience[] }
  | { kind: 'not'; of: Audience }
  | { kind: 'trait'; name: string; test: Test }
  | { kind: 'attribute'; name: AttributeName; test: Test }
  | { kind: 'metric'; name: MetricName; test: Test }
  | { kind: 'band'; name: BandName; is: boolean }
  | EventCondition;

export interface EventCondition {
  kind: 'event';
  /** Stored name of the event. */
  event: string;
  did: boolean;
  /** Number of events; at least one by default. */
  times: Test;
  withinDays: number | undefined;
  where: readonly Filter[];
}

export interface ReadAudience {
  root: Audience;
  /** Conditions, each property predicate of an event among them (management 8.3). */
  conditions: number;
  /** Groups (all, any, not) on the longest way down; 0 for a single condition. */
  depth: number;
}
