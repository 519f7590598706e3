/** Too many hashes wait. */
export class TooBusy extends Error {
  constructor() {
    super('too many password checks are waiting');
    this.name = 'TooBusy';
  }
}

interface HashQueueLimits {
  /** Concurrent hashes: each uses 19 MiB and a thread. */
  concurrency: number;
  /** Waiting hashes of all networks. */
  maxWaiting: number;
  /** Waiting hashes of one network. */
  maxWaitingPerNetwork: number;
  /** From 0 to 1; chooses which hash leaves a full queue. */
  random: () => number;
}

interface Waiting {
  start: () => void;
  refuse: (error: TooBusy) => void;
}

/**
 * Limits concurrent hashes, so that sign-ins cannot use all memory and threads. The networks that
 * sign-ins come from take turns, and a full queue refuses one of the network that waits with most:
 * a flood from one network delays its own sign-ins, and costs another network one turn.
 */
export class HashQueue {
  readonly #limits: HashQueueLimits;
  /** By network; the first one has the next turn. */
  readonly #waiting = new Map<string, Waiting[]>();
  #size = 0;
  #running = 0;

  constructor(limits: HashQueueLimits) {
    this.#limits = limits;
  }

  /** Rejects with TooBusy when the queue is full, otherwise as the work does. */
  async run<T>(network: string, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limits.concurrency) await this.#turn(network);
    else this.#running++;
    try {
      return await work();
    } finally {
      // Passes the permit on directly, so that a new caller cannot overtake.
      const next = this.#next();
      if (next) next.start();
      else this.#running--;
    }
  }

  #turn(network: string): Promise<void> {
    const { maxWaiting, maxWaitingPerNetwork } = this.#limits;
    const own = this.#waiting.get(network) ?? [];
    if (maxWaiting === 0 || own.length >= maxWaitingPerNetwork) throw new TooBusy();
    if (this.#size >= maxWaiting) this.#refuseOne(own.length);
    this.#waiting.set(network, own);
    this.#size++;
    return new Promise((resolve, reject) => own.push({ start: resolve, refuse: reject }));
  }

  /**
   * Refuses one hash of the network that would wait with most, by chance among several. Throws
   * TooBusy when that is the new one.
   */
  #refuseOne(own: number): void {
    const most = Math.max(...[...this.#waiting.values()].map(({ length }) => length), own + 1);
    const candidates = [...this.#waiting].filter(([, { length }]) => length === most);
    const chances = candidates.length + (own + 1 === most ? 1 : 0);
    const [network, waiting] = candidates[Math.floor(this.#limits.random() * chances)] ?? [];
    const refused = waiting?.pop();
    if (network === undefined || !refused) throw new TooBusy();
    if (waiting?.length === 0) this.#waiting.delete(network);
    this.#size--;
    refused.refuse(new TooBusy());
  }

  #next(): Waiting | undefined {
    const [first] = this.#waiting;
    if (!first) return undefined;
    const [network, waiting] = first;
    const next = waiting.shift();
    this.#waiting.delete(network);
    // Behind all others that wait.
    if (waiting.length > 0) this.#waiting.set(network, waiting);
    if (next) this.#size--;
    return next;
  }
}
