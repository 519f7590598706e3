/** A power of two; so many lists are kept. */
const PLACES = 256;
/** Longer lists are always made. */
const MAX_KEYS = 64;

/** Lists of keys that are the same in many maps. The keys are compared by identity. */
export class RepeatedKeys {
  readonly #lists: (readonly string[])[] = Array.from({ length: PLACES }, () => []);
  #keys: string[] = [];
  #count = 0;
  #mixed = 0;

  /** Begins the next list. */
  begin(): void {
    this.#count = 0;
    this.#mixed = 0;
  }

  add(key: string): void {
    this.#keys[this.#count++] = key;
    this.#mixed = (this.#mixed * 31 + key.length * 7 + key.charCodeAt(key.length - 1)) | 0;
  }

  /** The keys since `begin`: the list that was returned for them before, or a new one. */
  list(): readonly string[] {
    const keys = this.#keys;
    const count = this.#count;
    const place = (this.#mixed ^ (this.#mixed >> 8)) & (PLACES - 1);
    const kept = this.#lists[place] ?? [];
    let at = kept.length === count ? 0 : -1;
    while (at >= 0 && at < count && kept[at] === keys[at]) at++;
    if (at === count) return kept;
    const list = keys.slice(0, count);
    if (count <= MAX_KEYS) this.#lists[place] = list;
    else this.#keys = [];
    return list;
  }
}
