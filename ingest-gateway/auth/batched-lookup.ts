/** Too many look-ups wait already; the caller answers as if the store could not be reached. */
export class LookupOverloaded extends Error {
  override readonly name = 'LookupOverloaded';
}

const MAX_KEYS_PER_QUERY = 500;
const MAX_WAITING = 10_000;

/**
 * Gathers look-ups: one query is under way at a time and asks for everything that came in
 * meanwhile, so that a flood of unknown keys costs the store no more than a trickle. Look-ups of
 * one key share an answer.
 */
export class BatchedLookup<Key, Value> {
  readonly #ask: (keys: Key[]) => Promise<Map<Key, Value>>;
  #waiting = new Map<
    Key,
    {
      promise: Promise<Value | undefined>;
      resolve: (value: Value | undefined) => void;
      reject: (error: unknown) => void;
    }
  >();
  #asking = new Map<Key, Promise<Value | undefined>>();
  #isRunning = false;

  /** @param ask answers the values of those keys that have one */
  constructor(ask: (keys: Key[]) => Promise<Map<Key, Value>>) {
    this.#ask = ask;
  }

  /**
   * The value of a key, undefined when the store has none. Rejects with the store's error, or
   * LookupOverloaded.
   */
  find(key: Key): Promise<Value | undefined> {
    const known = this.#asking.get(key) ?? this.#waiting.get(key)?.promise;
    if (known) return known;
    if (this.#waiting.size >= MAX_WAITING)
      return Promise.reject(new LookupOverloaded(`${MAX_WAITING} look-ups wait already`));
    const waiting = Promise.withResolvers<Value | undefined>();
    this.#waiting.set(key, waiting);
    if (!this.#isRunning) void this.#run();
    return waiting.promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) {
      const group = [...this.#waiting].slice(0, MAX_KEYS_PER_QUERY);
      for (const [key, { promise }] of group) {
        this.#waiting.delete(key);
        this.#asking.set(key, promise);
      }
      try {
        const found = await this.#ask(group.map(([key]) => key));
        for (const [key, { resolve }] of group) resolve(found.get(key));
      } catch (error) {
        for (const [, { reject }] of group) reject(error);
      }
      for (const [key] of group) this.#asking.delete(key);
    }
    this.#isRunning = false;
  }
}
