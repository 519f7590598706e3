import type { Breakdown } from './breakdown.ts';
import type { Filter } from '../conditions/condition.ts';

/** Every filter of a report, and its breakdown. */
export interface Conditions {
  filters: readonly Filter[];
  breakdown: Breakdown | undefined;
  /** Steps, exclusions, start and return. */
  selectors: readonly { filters: readonly Filter[] }[];
}

/**
 * Whether the answer of a report rests on profiles: some condition or the breakdown is about a
 * trait of the person.
 */
export function readsTraits({ filters, breakdown, selectors }: Conditions): boolean {
  const targets = [...filters, ...selectors.flatMap((selector) => selector.filters)].map(
    ({ target }) => target,
  );
  return [...targets, ...(breakdown ? [breakdown.target] : [])].some(
    ({ kind }) => kind === 'trait',
  );
}
