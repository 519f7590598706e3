import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { mergeEvents, type LiveEvent } from './live-events.ts';
import type { LiveSearch } from './search.ts';

interface LiveAnswer {
  events: LiveEvent[];
}

const EVERY_MS = 1000;

/** Newest events first, asked for every second unless paused; a hidden page does not ask. */
export function useLiveEvents(search: LiveSearch, isPaused: boolean) {
  const question = new URLSearchParams({ ...search }).toString();
  const [kept, setKept] = useState<{ of: string; events: readonly LiveEvent[] }>({
    of: question,
    events: [],
  });
  const query = useQuery({
    queryKey: ['live', question],
    enabled: !isPaused,
    refetchInterval: isPaused ? false : EVERY_MS,
    staleTime: 0,
    retry: false,
    queryFn: ({ signal }) => api<LiveAnswer>(`/v1/live?${question}`, { signal }),
  });
  const before = kept.of === question ? kept.events : [];
  const events = isPaused ? before : mergeEvents(before, query.data?.events ?? []);
  if (events !== kept.events) setKept({ of: question, events });
  return { events, error: query.error, isLoading: query.isLoading, refetch: query.refetch };
}
