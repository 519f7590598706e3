/** Probes about once a second, with jitter across processes. */
const PROBE_EVERY_MS = 1_000;

interface BreakerOptions {
  readonly probe: () => Promise<unknown>;
  readonly onOpen: (error: Error) => void;
  readonly onClose: () => void;
}

/**
 * Circuit breaker that opens on the first failure: callers see `closed === false` and do not call
 * Redis, and a probe about every second closes it again. The probe must have its own timeout.
 */
export class Breaker {
  readonly #options: BreakerOptions;
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;
  #closed = true;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get closed(): boolean {
    return this.#closed;
  }

  fail(error: Error): void {
    if (!this.#closed) return;
    this.#closed = false;
    this.#options.onOpen(error);
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#options.probe().then(
        () => {
          this.#closed = true;
          this.#options.onClose();
        },
        () => this.#schedule(),
      );
    }, probeDelay(Math.random()));
    this.#timer.unref();
  }
}

/** Half a second to a second and a half, in ms; `random` is from 0 to 1. */
export function probeDelay(random: number): number {
  return PROBE_EVERY_MS * (0.5 + random);
}
