import { CommandError } from '../cli/command.ts';

/** Somebody asked the job to stop (Ctrl-C, SIGTERM). */
export class Stopped extends Error {
  constructor() {
    super('stopped');
    this.name = 'Stopped';
  }
}

/**
 * What is being written when somebody asks to stop is finished within this time, or left to whoever
 * continues, ms.
 */
const GRACE_MS = 4000;
/** A job of which nothing moved for so long is ended, ms. */
const SILENCE_MS = 600_000;

/**
 * How a job ends before its end. Asked to stop, it reads nothing more at once and writes for a
 * moment longer; what is left then is abandoned as kill -9 would leave it, and the same command
 * continues. The same happens when nothing moves any more, so that no wait for a server is without
 * bound.
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
        `nothing moved for ${Math.round(silence / 60_000)} minutes: see ./ravand status for what does not answer, then run the same command again: it continues`,
      );
      this.#reading.abort(error);
      this.#writing.abort(error);
    }, silence);
    if (stop.aborted) this.#asked();
    else stop.addEventListener('abort', this.#asked, { once: true });
  }

  /** Aborts as soon as somebody asks to stop. */
  get readSignal(): AbortSignal {
    return this.#reading.signal;
  }

  /** Aborts a moment later. */
  get writeSignal(): AbortSignal {
    return this.#writing.signal;
  }

  /** Whether somebody asked to stop. */
  get requested(): boolean {
    return this.#stop.aborted;
  }

  /** Something was read, written or answered. */
  progressed(): void {
    this.#silence.refresh();
  }

  /**
   * Waits for work that takes no signal, as long as there is time to: rejects with Stopped or
   * CommandError then, and the work goes on unheard.
   */
  async run<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#writing;
    let end: () => void = () => undefined;
    const over = new Promise<never>((_, reject) => {
      end = () => reject(signal.reason as Error);
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    });
    try {
      return await Promise.race([work, over]);
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  close(): void {
    clearTimeout(this.#silence);
    clearTimeout(this.#ending);
    this.#stop.removeEventListener('abort', this.#asked);
  }

  readonly #asked = (): void => {
    this.#reading.abort(new Stopped());
    this.#ending = setTimeout(() => this.#writing.abort(new Stopped()), this.#grace);
  };
}

/**
 * Resolves with what the work answers, or with undefined when somebody asked to stop and it
 * therefore did not come to its end.
 */
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
