import type { EventField } from './event-fields.ts';

/**
 * What a filter or a breakdown looks at: an event's property, a stored column of the event, or the
 * person's current trait. Names are normalised.
 */
export type Target =
  | { kind: 'property'; name: string }
  | { kind: 'field'; name: EventField }
  | { kind: 'trait'; name: string };

/**
 * A value to compare with: numbers meet the number map, texts (true and false among them) the text
 * map.
 */
export type Scalar = { text: string } | { number: number };

export type Test =
  | { op: 'is_set' | 'is_not_set' }
  | { op: 'eq' | 'neq'; value: Scalar }
  | { op: 'in' | 'not_in'; values: readonly Scalar[] }
  | { op: 'contains' | 'prefix'; text: string }
  | { op: 'gt' | 'gte' | 'lt' | 'lte'; number: number }
  | { op: 'between'; low: number; high: number };

/**
 * One condition (reports.md, "Shared by both reports"). A comparison with something absent is
 * false, whatever the operator; only is_not_set is true then.
 */
export interface Filter {
  target: Target;
  test: Test;
}

/** An event that passes: its stored name and the conditions on it. */
export interface EventSelector {
  event: string;
  filters: readonly Filter[];
}
