import type { Log } from './log.ts';

interface LifecycleOptions {
  log: Log;
  /** Limit for the whole shutdown, ms. */
  timeout: number;
}

export interface Lifecycle {
  /** Aborted when shutdown begins. */
  readonly signal: AbortSignal;
  /** Registers a shutdown step; the step registered last runs first. */
  readonly onShutdown: (name: string, step: () => Promise<void>) => void;
  /** Runs the steps and exits with code 1: the supervisor restarts the process. */
  readonly crash: (error: unknown) => void;
}

/**
 * Turns SIGTERM and SIGINT into an ordered, bounded shutdown. An uncaught error ends the process at
 * once, so that no offset is committed past it.
 */
export function startLifecycle({ log, timeout }: LifecycleOptions): Lifecycle {
  const controller = new AbortController();
  const steps: { name: string; step: () => Promise<void> }[] = [];
  let ending = false;

  const end = async (code: number) => {
    if (ending) return;
    ending = true;
    controller.abort(new Error('shutting down'));
    setTimeout(() => {
      log.error(
        { code: 'shutdown_timeout' },
        `shutdown took longer than ${timeout} ms; exiting now`,
      );
      process.exit(1);
    }, timeout).unref();
    for (const { name, step } of steps.reverse()) {
      try {
        await step();
      } catch (error) {
        log.warn({ err: error, step: name }, 'a shutdown step failed');
      }
    }
    process.exit(code);
  };

  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      log.info({ signal: name }, 'stopping');
      void end(0);
    });
  }
  const crash = (error: unknown) => {
    log.error(
      { err: error, code: 'crashed' },
      'stopping after an unexpected error; the supervisor restarts this service',
    );
    void end(1);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
  return {
    signal: controller.signal,
    onShutdown: (name, step) => steps.push({ name, step }),
    crash,
  };
}
