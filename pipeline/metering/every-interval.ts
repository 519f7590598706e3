import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';

/** After a failure the next try comes no later than this, however rare the work is, ms. */
const RETRY = 30_000;

/**
 * Repeats a piece of upkeep until the signal aborts. A failure is logged once per row of failures,
 * and tried again soon.
 */
export async function everyInterval(
  options: { name: string; ms: number; log: Log; signal: AbortSignal },
  work: () => Promise<void>,
): Promise<void> {
  let failing = false;
  while (!options.signal.aborted) {
    try {
      await work();
      if (failing) options.log.info({ loop: options.name }, 'works again');
      failing = false;
    } catch (error) {
      if (!failing && !isAborted(options.signal))
        options.log.warn(
          { err: error, loop: options.name, code: 'upkeep_failed' },
          'failed; trying again soon',
        );
      failing = true;
    }
    await delay(failing ? Math.min(options.ms, RETRY) : options.ms, options.signal).catch(
      () => undefined,
    );
  }
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
