import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../api/request.ts';
import type { ReportMeta } from './meta.tsx';

interface Answered<Answer> {
  answer: Answer;
  /** ms since the epoch. */
  askedAt: number;
}

export type ReportPath = `/v1/reports/${'funnel' | 'retention' | 'trends' | 'paths'}`;

/**
 * Runs a report whenever its request changes; undefined: the request is not complete. A request
 * that is replaced or left is cancelled in ClickHouse, too.
 */
export function useReport<Answer extends { meta: ReportMeta }>(
  path: ReportPath,
  request: object | undefined,
) {
  const queryClient = useQueryClient();
  const queryKey = ['report', path, request];
  const query = useQuery<Answered<Answer>>({
    queryKey,
    enabled: request !== undefined,
    staleTime: 60_000,
    gcTime: 300_000,
    retry: false,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const askedAt = Date.now();
      const answer = await api<Answer>(path, { method: 'POST', body: request, signal });
      return { answer, askedAt };
    },
  });
  return { ...query, cancel: () => void queryClient.cancelQueries({ queryKey }) };
}
