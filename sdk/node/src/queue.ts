/** An event that waits for an answer. */
export interface Waiting {
  id: string;
  /** The item of the batch, JSON. */
  json: string;
  /** Of the first request that held it, ms since the epoch: the host may know it. */
  attemptedAt: number | undefined;
}

/** Where the queue is kept beside memory. */
export interface QueueStore {
  append(event: Waiting): void;
  /** Resolves when all that was given is durable; rejects when it cannot be. */
  attempted(events: readonly Waiting[], at: number): Promise<void>;
  remove(events: readonly Waiting[]): void;
  close(): Promise<void>;
  /** The process exits: what was given is written at once. */
  exit(): void;
}

/** The host knows message ids for 48 hours: what was sent earlier may become a second event. */
const REPEATABLE_MS = 47 * 3_600_000;

/** Events in the order of their calls, with a bound. */
export class Queue {
  readonly #events: Set<Waiting>;
  readonly #max: number;
  readonly #store: QueueStore | undefined;

  constructor(max: number, { found = [], store }: { found?: Waiting[]; store?: QueueStore }) {
    this.#max = max;
    this.#events = new Set(found);
    this.#store = store;
  }

  get size(): number {
    return this.#events.size;
  }

  /** Returns the event that had to go because the queue is full. */
  push(event: Waiting): Waiting | undefined {
    this.#events.add(event);
    this.#store?.append(event);
    if (this.#events.size <= this.#max) return undefined;
    const [oldest] = this.#events;
    return oldest && this.remove([oldest])[0];
  }

  /** The oldest events: at most `max` of them and `maxBytes`, but at least one. */
  next(max: number, maxBytes: number): Waiting[] {
    const found: Waiting[] = [];
    let bytes = 0;
    for (const event of this.#events) {
      bytes += Buffer.byteLength(event.json) + 1;
      if (found.length > 0 && (bytes > maxBytes || found.length === max)) break;
      found.push(event);
    }
    return found;
  }

  /** Removes and returns those of which nobody can know any more whether the host has them. */
  removeUnknown(now: number): Waiting[] {
    const isUnknown = ({ attemptedAt = now }: Waiting) => attemptedAt < now - REPEATABLE_MS;
    return this.remove([...this.#events].filter(isUnknown));
  }

  /** Notes, durably when it resolves, that the host may know them from now on. */
  async attempted(events: readonly Waiting[], at: number): Promise<void> {
    const first = events.filter(({ attemptedAt }) => attemptedAt === undefined);
    for (const event of first) event.attemptedAt = at;
    await this.#store?.attempted(first, at);
  }

  /** Returns those that were still there. */
  remove(events: readonly Waiting[]): Waiting[] {
    const removed = events.filter((event) => this.#events.delete(event));
    this.#store?.remove(removed);
    return removed;
  }

  async close(): Promise<void> {
    await this.#store?.close();
  }

  exit(): void {
    this.#store?.exit();
  }
}
