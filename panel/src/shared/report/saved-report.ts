import { queryOptions } from '@tanstack/react-query';
import { api } from '../api/request.ts';

export type ReportKind = 'funnel' | 'retention' | 'trends' | 'paths';

export interface SavedReport {
  id: number;
  name: string;
  kind: ReportKind;
  /** The state of the page, as its URL has it. */
  definition: Record<string, unknown>;
  created_by: string | null;
  updated_at: string;
}

export const savedReportsQuery = queryOptions({
  queryKey: ['saved-reports'],
  queryFn: ({ signal }) => api<{ saved_reports: SavedReport[] }>('/v1/saved-reports', { signal }),
});
