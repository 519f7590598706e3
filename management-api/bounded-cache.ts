/**
 * Values that stand for a while, at most `max` of them: the oldest entry gives way. Time is an
 * argument, in ms.
 */
export class BoundedCache<K, V> {
  readonly #entries = new Map<K, { value: V; until: number }>();
  readonly #ttl: number;
  readonly #max: number;

  constructor({ ttl, max }: { ttl: number; max: number }) {
    this.#ttl = ttl;
    this.#max = max;
  }

  /** The entry, so that a kept `undefined` differs from nothing kept. */
  get(key: K, now: number): { value: V } | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (entry.until > now) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: K, value: V, now: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, until: now + this.#ttl });
    if (this.#entries.size <= this.#max) return;
    const oldest = this.#entries.keys().next();
    if (oldest.done !== true) this.#entries.delete(oldest.value);
  }
}
