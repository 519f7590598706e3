import { CommandError } from '../cli/command.ts';

/** The job was asked to stop (Ctrl-C, SIGTERM). */
export class Stopped extends Error {
  constructor() {
    super('stopped');
    this.name = 'Stopped';
  }
}

/** Runs `work` with a signal that aborts on Ctrl-C or SIGTERM, instead of ending the process. */
export async function withStopSignal<T>(work: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, onSignal);
  try {
    return await work(stop.signal);
  } finally {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.removeListener(name, onSignal);
  }
}

/** Time to finish running writes after a stop request, ms; the next process repeats the rest. */
const GRACE_MS = 4000;
/** A job without progress for this long is ended, ms. */
const SILENCE_MS = 600_000;

/**
 * Ends a job early. On a stop request it stops reading at once and may write for the grace period;
 * unfinished writes are then abandoned as by kill -9, and the same command resumes the job. A job
 * without progress ends the same way, so that no wait for a server is unbounded.
 */
export class GracefulStop {
  readonly #reading = new AbortController();
  readonly #writing = new AbortController();
  readonly #stop: AbortSignal;
  readonly #grace: number;
  readonly #silence: NodeJS.Timeout;
  #ending: NodeJS.Timeout | undefined;

  constructor(options: { stop: AbortSignal; grace?: number; silence?: number }) {
    const { stop, grace = GRACE_MS, silence = SILENCE_MS } = options;
    this.#stop = stop;
    this.#grace = grace;
    this.#silence = setTimeout(() => {
      const error = new CommandError(
        `no progress for ${Math.round(silence / 60_000)} minutes: check with ./ravand status which server does not answer, then run the same command again; it resumes`,
      );
      this.#reading.abort(error);
      this.#writing.abort(error);
    }, silence);
    if (stop.aborted) this.#onStop();
    else stop.addEventListener('abort', this.#onStop, { once: true });
  }

  /** Aborts on a stop request. */
  get readSignal(): AbortSignal {
    return this.#reading.signal;
  }

  /** Aborts when the grace period is over. */
  get writeSignal(): AbortSignal {
    return this.#writing.signal;
  }

  /** Whether a stop was requested. */
  get requested(): boolean {
    return this.#stop.aborted;
  }

  /** Reports progress: something was read, written or answered. */
  progressed(): void {
    this.#silence.refresh();
  }

  /**
   * Waits for work that accepts no signal, until the grace period is over. Rejects with Stopped or
   * CommandError then; the result of the work is ignored.
   */
  async run<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#writing;
    let end: () => void = () => undefined;
    const ended = new Promise<never>((_, reject) => {
      end = () => reject(signal.reason as Error);
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    });
    try {
      return await Promise.race([work, ended]);
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  close(): void {
    clearTimeout(this.#silence);
    clearTimeout(this.#ending);
    this.#stop.removeEventListener('abort', this.#onStop);
  }

  readonly #onStop = (): void => {
    this.#reading.abort(new Stopped());
    this.#ending = setTimeout(() => this.#writing.abort(new Stopped()), this.#grace);
  };
}

/** Resolves with the result of the work, or with undefined when a stop request ended it early. */
export async function unlessStopped<T>(
  gracefulStop: GracefulStop,
  work: Promise<T>,
): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (
      gracefulStop.requested &&
      (error === gracefulStop.readSignal.reason || error === gracefulStop.writeSignal.reason)
    )
      return undefined;
    throw error;
  }
}
