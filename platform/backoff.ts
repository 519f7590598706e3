export interface BackoffOptions {
  /** First delay, ms. */
  base: number;
  /** Largest delay, ms. */
  cap: number;
}

/**
 * Delay before attempt `attempt` (0 is the first retry): exponential with full jitter, in ms.
 * @param random a number in [0, 1)
 */
export function backoffDelay(
  options: BackoffOptions & { attempt: number; random: number },
): number {
  return Math.ceil(
    options.random * Math.min(options.cap, options.base * 2 ** Math.min(options.attempt, 30)),
  );
}

/** Waits, or rejects with the signal's reason as soon as it aborts. */
export async function delay(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const aborted = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }, ms);
    signal?.addEventListener('abort', aborted, { once: true });
  });
}

/**
 * Runs `task` until it succeeds, the signal aborts, or `attempts` are used up; then the last error
 * is thrown.
 */
export async function retry<T>(
  options: BackoffOptions & {
    attempts: number;
    signal?: AbortSignal;
    onFailure?: (error: unknown, attempt: number) => void;
  },
  task: (attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    options.signal?.throwIfAborted();
    try {
      return await task(attempt);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (attempt + 1 >= options.attempts) throw error;
      options.onFailure?.(error, attempt);
      await delay(backoffDelay({ ...options, attempt, random: Math.random() }), options.signal);
    }
  }
}
