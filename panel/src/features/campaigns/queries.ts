import { queryOptions } from '@tanstack/react-query';
import { api } from '../../shared/api/request.ts';
import type { Utm } from './utm.ts';

export type CampaignStatus =
  'draft' | 'scheduled' | 'sending' | 'paused' | 'sent' | 'cancelled' | 'failed';

export interface ListedCampaign {
  id: number;
  name: string;
  channel: string;
  status: CampaignStatus;
  scheduled_at: string | null;
  created_at: string;
  updated_at: string;
}

export interface Uplift {
  treated_rate: number;
  control_rate: number;
  difference: number;
  low: number;
  high: number;
  significant: boolean;
}

export interface Stats {
  planned: number;
  sent: number;
  failed: number;
  withheld: number;
  skipped: number;
  in_flight: number;
  skipped_by_reason: Record<string, number>;
  failed_by_reason: Record<string, number>;
  opened: number;
  clicked: number;
  converted: number;
  revenue: number;
  uplift: Uplift | null;
}

export interface Campaign extends ListedCampaign {
  template_id: number;
  template_version: number;
  segment_id: number | null;
  audience: unknown;
  control_percent: number;
  goal: { event: string; window_hours: number } | null;
  category: 'marketing' | 'service';
  utm: Utm | null;
  recurrence: { rule: string; starts_at: string; time_zone: string; next: string[] } | null;
  stats: Stats;
}

export interface Template {
  id: number;
  name: string;
  channel: string;
  category: string;
  version: number;
  updated_at: string;
  content: {
    subject?: string;
    title?: string;
    text?: string;
    html?: string;
    url?: string;
  };
}

export const campaignsQuery = queryOptions({
  queryKey: ['campaigns'],
  queryFn: ({ signal }) => api<{ campaigns: ListedCampaign[] }>('/v1/campaigns', { signal }),
});

export function campaignQuery(id: string) {
  return queryOptions({
    queryKey: ['campaigns', id],
    refetchInterval: 5000,
    queryFn: ({ signal }) => api<Campaign>(`/v1/campaigns/${encodeURIComponent(id)}`, { signal }),
  });
}

export const templatesQuery = queryOptions({
  queryKey: ['templates'],
  queryFn: ({ signal }) => api<{ templates: Template[] }>('/v1/templates', { signal }),
});
