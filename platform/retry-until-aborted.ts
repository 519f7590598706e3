import { backoffDelay, delay, retry } from './backoff.ts';
import type { Log } from './log.ts';

const BACKOFF = { base: 100, cap: 5000, min: 20 };

export interface RetryContext {
  log: Log;
  /** Ends the retries, for example when the partition is revoked. */
  signal: AbortSignal;
}

interface RetryOptions extends RetryContext {
  /** The `code` of its log lines. */
  code: string;
  /** The operation, as the subject of a log line. */
  what: string;
  /** Errors that a retry cannot cure. Defects of the program are final in any case. */
  isFinal?: (error: unknown) => boolean;
}

/**
 * Repeats `task` with backoff until it succeeds or the signal aborts: a server that is unavailable
 * stops the partition, not the process. Rejects with the reason of the signal or a final error.
 */
export async function retryUntilAborted<T>(
  { log, signal, code, what, isFinal }: RetryOptions,
  task: (attempt: number) => Promise<T>,
): Promise<T> {
  let failures = 0;
  const result = await retry(
    {
      ...BACKOFF,
      attempts: Number.POSITIVE_INFINITY,
      signal,
      isFinal: (error) => isDefect(error) || isFinal?.(error) === true,
      onFailure(error) {
        // Logs the first failure, then every tenth.
        if (failures++ % 10 !== 0) return;
        const message = error instanceof Error ? error.message : String(error);
        log.warn(
          { code, failures: failures - 1 },
          `${what} failed (${message}); retrying with backoff`,
        );
      },
    },
    task,
  );
  if (failures > 0) log.info({ code, failures }, `${what} succeeded after ${failures} failures`);
  return result;
}

function isDefect(error: unknown): boolean {
  return (
    error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
  );
}

/** Waits with backoff and jitter before attempt `attempt`. Rejects when the signal aborts. */
export async function pause(attempt: number, signal: AbortSignal): Promise<void> {
  await delay(backoffDelay({ ...BACKOFF, attempt, random: Math.random() }), signal);
}
