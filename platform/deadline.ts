/** A wait exceeded its timeout. `waitedFor` names what it waited for. */
export class DeadlineExceeded extends Error {
  readonly waitedFor: string;
  constructor(waitedFor: string, ms: number) {
    super(`waited ${ms} ms for ${waitedFor}`);
    this.name = 'DeadlineExceeded';
    this.waitedFor = waitedFor;
  }
}

/** Limits a wait, not the work: pass that a signal. Throws DeadlineExceeded. */
export async function withDeadline<T>(
  options: { ms: number; waitingFor: string },
  work: Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new DeadlineExceeded(options.waitingFor, options.ms)),
      options.ms,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Work under a signal that aborts after `ms`, at least 1. Unlike that of AbortSignal.timeout, its
 * timer ends with the work: thousands of short calls a second leave nothing behind.
 */
export async function withTimeLimit<T>(
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const allowed = Math.max(1, ms);
  const timer = setTimeout(
    () => controller.abort(new DOMException(`it took longer than ${allowed} ms`, 'TimeoutError')),
    allowed,
  );
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
  }
}
