import { backoffDelay, delay } from './backoff.ts';
import type { Log } from './log.ts';

const BACKOFF = { base: 100, cap: 5000 };

export interface RetryContext {
  log: Log;
  /** Aborts the waiting. */
  signal: AbortSignal;
}

/**
 * Repeats `attempt` until it succeeds or the signal aborts: what is away stops the partition, not
 * the process. Answers what the attempt answered. A defect of the program is not waited out.
 */
export async function retryUntilAborted<T>(
  options: RetryContext & { code: string; what: string },
  attempt: (attempt: number) => Promise<T>,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    options.signal.throwIfAborted();
    try {
      const result = await attempt(failures);
      if (failures > 0)
        options.log.info({ code: options.code, failures }, `${options.what}: works again`);
      return result;
    } catch (error) {
      options.signal.throwIfAborted();
      if (
        error instanceof TypeError ||
        error instanceof RangeError ||
        error instanceof ReferenceError
      )
        throw error;
      // The first failure says that it began, every tenth that it lasts.
      const message = error instanceof Error ? error.message : String(error);
      if (failures % 10 === 0)
        options.log.warn(
          { code: options.code, failures },
          `${options.what} failed (${message}); trying again with backoff`,
        );
      await pause(failures, options.signal);
    }
  }
}

/** A capped, jittered wait. Rejects when the signal aborts. */
export async function pause(attempt: number, signal: AbortSignal): Promise<void> {
  await delay(20 + backoffDelay({ ...BACKOFF, attempt, random: Math.random() }), signal);
}
