/** Probes about once a second, with jitter across processes. */
const PROBE_EVERY_MS = 1_000;

/**
 * Circuit breaker that opens on the first failure: callers see `closed === false` and do not call
 * Redis, and a probe about every second closes it again. The probe must have its own timeout.
 */
export class Breaker {
  readonly #probe: () => Promise<unknown>;
  readonly #onOpen: (error: Error) => void;
  readonly #onClose: () => void;
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;
  #closed = true;

  constructor(options: {
    readonly probe: () => Promise<unknown>;
    readonly onOpen: (error: Error) => void;
    readonly onClose: () => void;
  }) {
    this.#probe = options.probe;
    this.#onOpen = options.onOpen;
    this.#onClose = options.onClose;
  }

  get closed(): boolean {
    return this.#closed;
  }

  fail(error: Error): void {
    if (!this.#closed) return;
    this.#closed = false;
    this.#onOpen(error);
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#probe().then(
        () => {
          this.#closed = true;
          this.#onClose();
        },
        () => {
          this.#schedule();
        },
      );
    }, probeDelay(Math.random()));
    this.#timer.unref();
  }
}

/** Half a second to a second and a half, in ms; `random` is from 0 to 1. */
export function probeDelay(random: number): number {
  return PROBE_EVERY_MS * (0.5 + random);
}
