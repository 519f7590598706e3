import { retry } from '../backoff.ts';

/** Backoff between attempts to reach Redis, ms. */
export const BACKOFF = { base: 50, cap: 2_000 } as const;

/** Retries with backoff; rejects only when the signal aborts. */
export async function retryUntilAnswered<T>(
  attempt: () => Promise<T>,
  options: { readonly signal: AbortSignal; readonly onWaiting: (error: Error) => void },
): Promise<T> {
  return retry(
    {
      ...BACKOFF,
      attempts: Infinity,
      signal: options.signal,
      onFailure: (error) => options.onWaiting(asError(error)),
    },
    attempt,
  );
}

export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
