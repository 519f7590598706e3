import { backoffDelay } from '../../platform/backoff.ts';

export interface DeferredOptions<Key, Update> {
  /** Writes some updates at once; rejects when they cannot be written. */
  write: (updates: ReadonlyMap<Key, Update>) => Promise<void>;
  merge: (before: Update, after: Update) => Update;
  /** Maximum number of waiting keys; updates of further keys are dropped. */
  capacity: number;
  /** How many of them one owner may have, so that none leaves no room for the others. */
  share?: { ownerOf: (update: Update) => number; max: number };
  /** How long updates are gathered before a write, ms. */
  linger: number;
  random: () => number;
  onFailed?: (error: unknown) => void;
  onDropped?: (count: number) => void;
}

/** Keys in one write. */
const MAX_KEYS_PER_WRITE = 1000;
const RETRY = { base: 500, cap: 15_000 };

/**
 * Updates that no answer waits for, such as counters: merged by key, written together, retried with
 * backoff. What is not written when the process dies is lost, and a write whose answer is lost may
 * count twice: nothing depends on these numbers.
 */
export class DeferredUpdates<Key, Update> {
  readonly #options: DeferredOptions<Key, Update>;
  #waiting = new Map<Key, Update>();
  /** Waiting keys by owner. */
  readonly #held = new Map<number, number>();
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #attempt = 0;
  #dropped = 0;

  constructor(options: DeferredOptions<Key, Update>) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(key: Key, update: Update): void {
    const before = this.#waiting.get(key);
    if (before !== undefined) this.#waiting.set(key, this.#options.merge(before, update));
    else if (this.#hasRoom(update)) this.#insert(key, update);
    else this.#dropped++;
    this.#schedule();
  }

  /** Writes what is waiting, within `ms`. Never rejects. */
  async close(ms: number): Promise<void> {
    clearTimeout(this.#timer);
    const deadline = Date.now() + ms;
    this.#attempt = 0;
    while (this.#waiting.size > 0 && this.#attempt === 0 && Date.now() < deadline) {
      const late = new Promise((resolve) =>
        setTimeout(resolve, Math.max(0, deadline - Date.now())).unref(),
      );
      await Promise.race([this.#writing ?? this.#write(), late]);
    }
    clearTimeout(this.#timer);
  }

  #hasRoom(update: Update): boolean {
    const { capacity, share } = this.#options;
    if (this.#waiting.size >= capacity) return false;
    return !share || (this.#held.get(share.ownerOf(update)) ?? 0) < share.max;
  }

  #insert(key: Key, update: Update): void {
    this.#waiting.set(key, update);
    this.#count(update, 1);
  }

  #count(update: Update, change: 1 | -1): void {
    const owner = this.#options.share?.ownerOf(update);
    if (owner === undefined) return;
    const held = (this.#held.get(owner) ?? 0) + change;
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
  }

  #schedule(): void {
    if (this.#timer || this.#writing || this.#waiting.size === 0) return;
    const pause =
      this.#attempt === 0
        ? 0
        : backoffDelay({ ...RETRY, attempt: this.#attempt, random: this.#options.random() });
    this.#timer = setTimeout(() => void this.#write(), this.#options.linger + pause).unref();
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writeOnce().finally(() => {
      this.#writing = undefined;
      this.#schedule();
    });
    return this.#writing;
  }

  async #writeOnce(): Promise<void> {
    const { write, merge, onFailed, onDropped } = this.#options;
    const batch = new Map([...this.#waiting].slice(0, MAX_KEYS_PER_WRITE));
    for (const [key, update] of batch) {
      this.#waiting.delete(key);
      this.#count(update, -1);
    }
    if (this.#dropped > 0) onDropped?.(this.#dropped);
    this.#dropped = 0;
    try {
      await write(batch);
      this.#attempt = 0;
    } catch (error) {
      this.#attempt++;
      for (const [key, update] of batch) {
        const after = this.#waiting.get(key);
        if (after === undefined) this.#insert(key, update);
        else this.#waiting.set(key, merge(update, after));
      }
      onFailed?.(error);
    }
  }
}
