import { delay } from './backoff.ts';

/** Too many lookups are waiting; callers treat the store as unreachable. */
export class LookupOverloaded extends Error {
  override readonly name = 'LookupOverloaded';
}

interface Waiting<Value> {
  promise: Promise<Value | undefined>;
  resolve: (value: Value | undefined) => void;
  reject: (error: unknown) => void;
}

const MAX_KEYS_PER_QUERY = 500;
const MAX_WAITING = 10_000;
/** So many lookups within an interval, and more than so many at a time, are worth an interval. */
const MANY = 8;
const FEW_AT_ONCE = 3;

/**
 * Batches lookups: one query runs at a time, and the next one covers all keys that were requested
 * meanwhile. So many unknown keys cost the store little more than a few. Lookups of one key share a
 * result.
 */
export class BatchedLookup<Key, Value> {
  readonly #query: (keys: Key[]) => Promise<Map<Key, Value>>;
  readonly #intervalMs: number;
  #waiting = new Map<Key, Waiting<Value>>();
  #querying = new Map<Key, Promise<Value | undefined>>();
  #isRunning = false;
  #beganAt = Number.NEGATIVE_INFINITY;
  /** When the last lookups were asked for, ms: the oldest is at `#lookups % MANY`. */
  readonly #askedAt = new Float64Array(MANY).fill(Number.NEGATIVE_INFINITY);
  #lookups = 0;
  /** Lookups since the last query began, and between the two before. */
  #asked = 0;
  #askedBefore = 0;

  /**
   * @param query resolves with the values of the keys that have one
   * @param options.intervalMs between the beginnings of two queries while many lookups come within
   * so long, several at a time; clients that wait for each answer wait for nothing else
   */
  constructor(
    query: (keys: Key[]) => Promise<Map<Key, Value>>,
    { intervalMs = 0 }: { intervalMs?: number } = {},
  ) {
    this.#query = query;
    this.#intervalMs = intervalMs;
  }

  /** Value of a key or undefined. Rejects with the store's error or LookupOverloaded. */
  find(key: Key): Promise<Value | undefined> {
    this.#asked++;
    if (this.#intervalMs > 0) this.#askedAt[this.#lookups++ % MANY] = performance.now();
    const known = this.#querying.get(key) ?? this.#waiting.get(key)?.promise;
    if (known) return known;
    if (this.#waiting.size >= MAX_WAITING)
      return Promise.reject(new LookupOverloaded(`${MAX_WAITING} lookups are waiting already`));
    const waiting = Promise.withResolvers<Value | undefined>();
    this.#waiting.set(key, waiting);
    if (!this.#isRunning) void this.#run();
    return waiting.promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) {
      const early = this.#isAskedOften() ? this.#beganAt + this.#intervalMs - performance.now() : 0;
      if (early > 0) await delay(early);
      this.#beganAt = performance.now();
      this.#askedBefore = this.#asked;
      this.#asked = 0;
      const group = [...this.#firstWaiting()];
      for (const [key, { promise }] of group) {
        this.#waiting.delete(key);
        this.#querying.set(key, promise);
      }
      try {
        const found = await this.#query(group.map(([key]) => key));
        for (const [key, { resolve }] of group) resolve(found.get(key));
      } catch (error) {
        for (const [, { reject }] of group) reject(error);
      }
      for (const [key] of group) this.#querying.delete(key);
    }
    this.#isRunning = false;
  }

  #isAskedOften(): boolean {
    if (Math.max(this.#asked, this.#askedBefore) <= FEW_AT_ONCE) return false;
    const oldest = this.#askedAt[this.#lookups % MANY] ?? Number.NEGATIVE_INFINITY;
    return performance.now() - oldest < this.#intervalMs;
  }

  *#firstWaiting(): Generator<[Key, Waiting<Value>]> {
    let count = 0;
    for (const entry of this.#waiting) {
      if (count++ === MAX_KEYS_PER_QUERY) return;
      yield entry;
    }
  }
}
