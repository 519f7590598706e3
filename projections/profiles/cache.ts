import { profileKey, type Profile } from './profile.ts';

/** Bytes of the process that a profile takes beside its texts: the objects and its place in the cache. Measured with bench/profiles.ts. */
const PROFILE_BYTES = 500;

/** What a profile takes in memory, roughly. */
export function weigh({ name, writes }: Profile): number {
  return PROFILE_BYTES + 4 * name.length + writes.length;
}

interface Entry {
  profile: Profile;
  bytes: number;
}

/** One of the two generations. */
class Generation {
  readonly entries = new Map<string, Entry>();
  bytes = 0;

  set(key: string, entry: Entry): void {
    this.delete(key);
    this.entries.set(key, entry);
    this.bytes += entry.bytes;
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (entry && this.entries.delete(key)) this.bytes -= entry.bytes;
  }
}

/**
 * The profiles of one partition that were used last, at most about `limit()` bytes of them. What is used moves into the young generation; when that is half full
 * the old one is dropped. An entry is what ClickHouse has, so dropping it loses nothing.
 */
export class ProfileCache {
  readonly #limit: () => number;
  #young = new Generation();
  #old = new Generation();

  constructor(limit: () => number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#young.entries.size + this.#old.entries.size;
  }

  get bytes(): number {
    return this.#young.bytes + this.#old.bytes;
  }

  get(key: string): Profile | undefined {
    const young = this.#young.entries.get(key);
    if (young) return young.profile;
    const old = this.#old.entries.get(key);
    if (!old) return undefined;
    this.#old.delete(key);
    this.#keep(key, old);
    return old.profile;
  }

  set(profile: Profile): void {
    const key = profileKey(profile.accountId, profile.name);
    this.#old.delete(key);
    this.#keep(key, { profile, bytes: weigh(profile) });
  }

  clear(): void {
    this.#young = new Generation();
    this.#old = new Generation();
  }

  #keep(key: string, entry: Entry): void {
    this.#young.set(key, entry);
    if (this.#young.bytes < this.#limit() / 2) return;
    this.#old = this.#young;
    this.#young = new Generation();
  }
}
