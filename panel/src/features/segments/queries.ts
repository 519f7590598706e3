import { queryOptions } from '@tanstack/react-query';
import { api } from '../../shared/api/request.ts';
import type { Operator } from '../../../../audiences/conditions/condition.ts';

export interface Segment {
  id: number;
  name: string;
  definition: unknown;
  created_at: string;
  updated_at: string;
}

interface Offered {
  name: string;
  kind: string;
  operators: Operator[];
  label: string;
}

/** What GET /v1/schema/traits says an audience may ask. */
export interface Traits {
  schema: { name: string; kind: 'string' | 'number' }[];
  builtin: Offered[];
  engagement: { metrics: Offered[]; bands: string[] };
}

export const segmentsQuery = queryOptions({
  queryKey: ['segments'],
  queryFn: ({ signal }) => api<{ segments: Segment[] }>('/v1/segments', { signal }),
});

export function segmentQuery(id: string) {
  return queryOptions({
    queryKey: ['segments', id],
    queryFn: ({ signal }) => api<Segment>(`/v1/segments/${encodeURIComponent(id)}`, { signal }),
  });
}

export const offeredQuery = queryOptions({
  queryKey: ['schema', 'traits', 'offered'],
  staleTime: 60_000,
  queryFn: ({ signal }) => api<Traits>('/v1/schema/traits', { signal }),
});
