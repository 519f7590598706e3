import { retry } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import { PositionMoved } from './store.ts';

/**
 * Repeats work on PostgreSQL until it succeeds or the signal aborts, with backoff and jitter: while
 * it is away the partition waits, not the process. A defect of the program, and a position that
 * somebody else moved, are not waited out.
 */
export function patiently<T>(
  options: { log: Log; signal: AbortSignal; what: string },
  work: () => Promise<T>,
): Promise<T> {
  const { log, signal, what } = options;
  let defect: unknown;
  const stop = new AbortController();
  return retry(
    {
      base: 100,
      cap: 5000,
      attempts: Number.POSITIVE_INFINITY,
      signal: AbortSignal.any([signal, stop.signal]),
      onFailure(error, attempt) {
        const message = error instanceof Error ? error.message : String(error);
        // The first failure says that it began, every tenth that it lasts.
        if (attempt % 10 === 0)
          log.warn(
            { code: 'postgres_unreachable', attempt },
            `${what} failed (${message}); trying again with backoff`,
          );
      },
    },
    async () => {
      try {
        return await work();
      } catch (error) {
        if (
          error instanceof TypeError ||
          error instanceof RangeError ||
          error instanceof PositionMoved
        ) {
          defect = error;
          stop.abort(error);
        }
        throw error;
      }
    },
  ).catch((error: unknown) => {
    throw defect ?? error;
  });
}
