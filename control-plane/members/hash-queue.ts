/** Too many hashes wait already. */
export class TooBusy extends Error {
  constructor() {
    super('too many passwords wait to be checked');
    this.name = 'TooBusy';
  }
}

interface Bounds {
  /** Hashes at the same time: each takes 19 MiB and a thread. */
  atOnce: number;
  /** Hashes that may wait; further ones are refused. */
  waiting: number;
}

/** Runs costly work a few at a time, so that sign-ins cannot take all memory and threads. */
export class HashQueue {
  readonly #bounds: Bounds;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** Rejects with TooBusy when the queue is full, otherwise as the work does. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#bounds.atOnce) {
      if (this.#waiting.length >= this.#bounds.waiting) throw new TooBusy();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running++;
    }
    try {
      return await work();
    } finally {
      // The place goes to the next one directly, so that a newcomer cannot slip in between.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}
