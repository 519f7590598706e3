import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { Problem } from './problem.ts';

const RETRIED = ['offline', 'unavailable', 'failed'];

/**
 * Server state of all pages. Reads are repeated twice when the fault is not the request's; changes
 * are never repeated. `signedOut` is called when an answer says that the session has ended.
 */
export function createQueryClient(signedOut: () => void): QueryClient {
  const watch = (error: unknown) => {
    if (error instanceof Problem && error.facts.kind === 'signed_out') signedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError: watch }),
    mutationCache: new MutationCache({ onError: watch }),
    defaultOptions: {
      queries: {
        staleTime: 30_000,
        retry: (count, error) =>
          count < 2 && error instanceof Problem && RETRIED.includes(error.facts.kind),
        refetchOnWindowFocus: false,
      },
      mutations: { retry: false },
    },
  });
}
