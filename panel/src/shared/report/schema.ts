import { queryOptions } from '@tanstack/react-query';
import { api } from '../api/request.ts';
import type { TargetText } from './condition.ts';

/** The answer of GET /v1/schema/events. */
interface EventList {
  events: { name: string; volume: number; prop_keys?: string[]; last_seen?: string }[];
}

/** What GET /v1/schema/traits answers, as far as the panel reads it. */
interface TraitList {
  schema: { name: string; kind: 'string' | 'number'; users: number }[];
}

/** Names of events, most frequent first, with the keys of their properties. */
export const eventsQuery = queryOptions({
  queryKey: ['schema', 'events'],
  staleTime: 60_000,
  queryFn: ({ signal }) => api<EventList>('/v1/schema/events', { signal }),
});

/** Names of traits, most frequent first. */
export const traitsQuery = queryOptions({
  queryKey: ['schema', 'traits'],
  staleTime: 60_000,
  queryFn: ({ signal }) => api<TraitList>('/v1/schema/traits', { signal }),
});

/** The most frequent values of a property, field or trait; `event`: of these events only. */
export function valuesQuery({ kind, name }: TargetText, event: string | undefined) {
  return queryOptions({
    queryKey: ['schema', 'values', kind, name, event],
    enabled: name !== '',
    staleTime: 60_000,
    queryFn: ({ signal }) => {
      const query = new URLSearchParams({ [kind]: name, ...(event ? { event } : {}) });
      return api<{ values: { value: string; count: number }[] }>(
        `/v1/schema/values?${query.toString()}`,
        { signal },
      );
    },
  });
}
