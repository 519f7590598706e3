/** The queue is full. */
export class TooBusy extends Error {
  constructor() {
    super('too many password checks are waiting');
    this.name = 'TooBusy';
  }
}

interface HashQueueLimits {
  /** Concurrent hashes: each uses 19 MiB and a thread. */
  concurrency: number;
  /** Waiting hashes; further ones are refused. */
  maxWaiting: number;
}

/** Limits concurrent hashes, so that sign-ins cannot use all memory and threads. */
export class HashQueue {
  readonly #limits: HashQueueLimits;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limits: HashQueueLimits) {
    this.#limits = limits;
  }

  /** Rejects with TooBusy when the queue is full, otherwise as the work does. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limits.concurrency) {
      if (this.#waiting.length >= this.#limits.maxWaiting) throw new TooBusy();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running++;
    }
    try {
      return await work();
    } finally {
      // Passes the permit on directly, so that a new caller cannot overtake.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}
