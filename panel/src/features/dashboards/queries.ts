import { queryOptions } from '@tanstack/react-query';
import { api } from '../../shared/api/request.ts';

export interface Dashboard {
  id: number;
  name: string;
  /** Saved reports, in the order of the page. */
  report_ids: number[];
  created_by: string | null;
  updated_at: string;
}

export const dashboardsQuery = queryOptions({
  queryKey: ['dashboards'],
  queryFn: ({ signal }) => api<{ dashboards: Dashboard[] }>('/v1/dashboards', { signal }),
});
