export interface BackoffOptions {
  /** First delay, ms. */
  base: number;
  /** Maximum delay, ms. */
  cap: number;
  /** Added to every delay, ms; 0 by default. */
  min?: number;
}

/**
 * Delay before attempt `attempt` (0 is the first retry): exponential with full jitter, in ms.
 * @param random a number in [0, 1)
 */
export function backoffDelay(
  options: BackoffOptions & { attempt: number; random: number },
): number {
  const { base, cap, min = 0, attempt, random } = options;
  return min + Math.ceil(random * Math.min(cap, base * 2 ** Math.min(attempt, 30)));
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
 * Runs `task` until it succeeds, the signal aborts, it fails with an error that is final, or
 * `attempts` are used up. Rejects with the last error, or with the reason of the signal.
 */
export async function retry<T>(
  options: BackoffOptions & {
    attempts: number;
    signal?: AbortSignal;
    /** Errors that are thrown at once. */
    isFinal?: (error: unknown) => boolean;
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
      if (attempt + 1 >= options.attempts || options.isFinal?.(error) === true) throw error;
      options.onFailure?.(error, attempt);
      await delay(backoffDelay({ ...options, attempt, random: Math.random() }), options.signal);
    }
  }
}
