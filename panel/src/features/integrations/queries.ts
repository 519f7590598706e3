import { queryOptions } from '@tanstack/react-query';
import { api } from '../../shared/api/request.ts';

export interface Connection {
  id: number;
  source: string;
  source_label: string;
  label: string;
  webhook_url: string;
  has_secret: boolean;
  enabled: boolean;
  healthy: boolean;
  received: number;
  accepted: number;
  rejected: number;
  last_error?: string;
}

export interface Relay {
  id: number;
  name: string;
  url: string;
  events: string[];
  filters: unknown[];
  enabled: boolean;
  disabled_reason?: string;
}

export interface Delivery {
  id: number;
  message_id: string;
  event: string;
  status: 'pending' | 'succeeded' | 'dead';
  attempts: number;
  response_status: number | null;
  error: string | null;
  next_attempt_at: string | null;
  created_at: string;
}

export const connectionsQuery = queryOptions({
  queryKey: ['integrations'],
  queryFn: ({ signal }) => api<{ integrations: Connection[] }>('/v1/integrations', { signal }),
});

export const relaysQuery = queryOptions({
  queryKey: ['relays'],
  queryFn: ({ signal }) => api<{ relays: Relay[] }>('/v1/relays', { signal }),
});

export function deliveriesQuery(id: number) {
  return queryOptions({
    queryKey: ['relays', id, 'deliveries'],
    queryFn: ({ signal }) =>
      api<{ deliveries: Delivery[] }>(`/v1/relays/${id}/deliveries`, { signal }),
  });
}
