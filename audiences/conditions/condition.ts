import type { EventField } from './event-fields.ts';

/** The operators of a condition (reports: Shared by both reports), in the order of the docs. */
export const OPERATORS = [
  'eq',
  'neq',
  'in',
  'not_in',
  'contains',
  'prefix',
  'gt',
  'gte',
  'lt',
  'lte',
  'between',
  'is_set',
  'is_not_set',
] as const;
export type Operator = (typeof OPERATORS)[number];

/**
 * What a condition compares; `any`: a number is compared with the number map, a text with the text
 * map.
 */
export type ValueKind = 'string' | 'boolean' | 'number' | 'date' | 'any';

/**
 * What a filter or a breakdown reads: an event's property, a stored column of the event, or the
 * person's current trait. Names are normalised.
 */
export type Target =
  | { kind: 'property'; name: string }
  | { kind: 'field'; name: EventField }
  | { kind: 'trait'; name: string };

/**
 * A value to compare with: numbers use the number map, texts (including true and false) the text
 * map.
 */
export type Scalar = { text: string } | { number: number };

/** Operator and value, normalised; dates are epoch milliseconds. */
export type Test =
  | { op: 'is_set' | 'is_not_set' }
  | { op: 'eq' | 'neq'; value: Scalar }
  | { op: 'in' | 'not_in'; values: readonly Scalar[] }
  | { op: 'contains' | 'prefix'; text: string }
  | { op: 'gt' | 'gte' | 'lt' | 'lte'; number: number }
  | { op: 'between'; low: number; high: number };

/**
 * One condition on an event (reports: Shared by both reports). A comparison with something absent
 * is false, whatever the operator; only is_not_set is true then.
 */
export interface Filter {
  target: Target;
  test: Test;
}

/** Selects events: their stored name and the conditions on them. */
export interface EventSelector {
  event: string;
  filters: readonly Filter[];
}
