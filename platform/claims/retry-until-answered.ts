import { retry } from '../backoff.ts';

/** How long to wait between attempts to reach Redis, ms. */
export const WAIT = { base: 50, cap: 2_000 } as const;

/**
 * Tries until it works, with backoff. Only aborting ends it otherwise: then it rejects with the
 * signal's reason.
 */
export async function retryUntilAnswered<T>(
  attempt: () => Promise<T>,
  options: { readonly signal: AbortSignal; readonly onWaiting: (error: Error) => void },
): Promise<T> {
  return retry(
    {
      ...WAIT,
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
