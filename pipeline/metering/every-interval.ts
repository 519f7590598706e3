import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';

/** Maximum delay before a retry, ms. */
const MAX_RETRY_DELAY = 30_000;

/** Repeats periodic work until the signal aborts; consecutive failures are logged once. */
export async function everyInterval(
  options: { name: string; ms: number | (() => number); log: Log; signal: AbortSignal },
  work: () => Promise<void>,
): Promise<void> {
  let failing = false;
  while (!options.signal.aborted) {
    try {
      await work();
      if (failing) options.log.info({ loop: options.name }, 'recovered');
      failing = false;
    } catch (error) {
      if (!failing && !isAborted(options.signal))
        options.log.warn(
          { err: error, loop: options.name, code: 'upkeep_failed' },
          'failed; retrying soon',
        );
      failing = true;
    }
    const ms = typeof options.ms === 'number' ? options.ms : options.ms();
    await delay(failing ? Math.min(ms, MAX_RETRY_DELAY) : ms, options.signal).catch(
      () => undefined,
    );
  }
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
