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
