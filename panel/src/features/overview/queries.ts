import { queryOptions } from '@tanstack/react-query';
import { api } from '../../shared/api/request.ts';

export interface Books {
  received: number;
  published: number;
  duplicate: number;
  rejected: number;
  spooled: number;
  stored: number;
  dead: number;
  lost: number;
  in_flight: number;
}

/** The answer of GET /v1/overview. */
export interface Overview {
  now: string;
  fresh_until: string | null;
  minutes: { minute: string; accepted: number; rejected: number }[];
  today: { accepted: number; rejected: number };
  books: Books;
  month: {
    key: string;
    events: number;
    profiles: number;
    /** When the people were counted last; null: not yet. */
    profiles_counted_at: string | null;
  };
  announcements: { meter: 'events' | 'profiles'; month: string; percent: number }[];
}

export interface Start {
  has_write_key: boolean;
  has_events: boolean;
  has_report: boolean;
  ingest_url: string;
}

export interface Quality {
  days: number;
  totals: { rejected: number; warned: number };
  rows: {
    day: string;
    kind: 'reject' | 'warn';
    code: string;
    field?: string;
    sdk: string;
    app_id: number;
    count: number;
    label: string;
  }[];
}

export const overviewQuery = queryOptions({
  queryKey: ['overview'],
  refetchInterval: 5000,
  queryFn: ({ signal }) => api<Overview>('/v1/overview', { signal }),
});

export const startQuery = queryOptions({
  queryKey: ['start'],
  queryFn: ({ signal }) => api<Start>('/v1/start', { signal }),
});

export const qualityQuery = queryOptions({
  queryKey: ['quality', 7],
  staleTime: 60_000,
  queryFn: ({ signal }) => api<Quality>('/v1/ingest/quality?days=7', { signal }),
});
